import { expect, test } from 'bun:test'
import { normalizeOpenApi } from '../../../src/platform/http/docs/openapi.ts'

const text = { type: 'string', description: 'a text' }

test('a property may have the name of a JSON Schema keyword', () => {
  const names = ['title', 'error', 'examples', 'properties', 'const', 'anyOf', '$id', 'type']
  const properties = Object.fromEntries(names.map((name) => [name, { ...text, examples: ['a'] }]))
  const schema = { title: 'Odd', type: 'object', properties, required: names }
  const reply = { description: 'odd', content: { 'application/json': { schema } } }
  const document = normalizeOpenApi(
    { info: {}, paths: { '/odd': { get: { operationId: 'odd', responses: { 200: reply } } } } },
    { tags: {}, server: 'http://localhost', isSimple: false },
  )
  const { schemas } = document['components'] as { schemas: Record<string, { properties: object }> }
  const expected = names.map((name) => [name, { ...text, example: 'a' }])
  expect(schemas['Odd']?.properties).toEqual(Object.fromEntries(expected))
})
