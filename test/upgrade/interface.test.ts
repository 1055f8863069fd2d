import { expect, test } from 'bun:test'
import { at, findRemovals, type Json, readInterface, readReleased } from './interface.ts'

const PROFILE = '/api/user/profile/v1'
const REGISTER = '/api/auth/register/v1'
const REPLY = ['content', 'application/json', 'schema', 'properties']

test('keeps everything that the last release offered, and requires nothing more', async () => {
  expect(findRemovals(await readReleased(), await readInterface())).toEqual([])
})

test.each<[string, (paths: Json) => void, string]>([
  ['a route', (paths) => delete paths[PROFILE], `GET ${PROFILE} is missing`],
  [
    'a field of a response',
    (paths) =>
      delete at(paths, PROFILE, 'get', 'responses', '200', ...REPLY, 'response', 'properties')?.[
        'email'
      ],
    `GET ${PROFILE} 200.response.email is missing`,
  ],
  [
    'an optional field of a request',
    (paths) => (bodyOf(paths)['required'] as string[]).push('name'),
    `POST ${REGISTER} body.name is required`,
  ],
  [
    'the type of a field',
    (paths) => Object.assign(at(bodyOf(paths), 'properties', 'email') ?? {}, { type: 'number' }),
    `POST ${REGISTER} body.email is number instead of string`,
  ],
])('finds a change of %s', async (_name, change, found) => {
  const now = await readReleased()
  change(at(now, '/docs/json') ?? {})
  expect(findRemovals(await readReleased(), now)).toContain(found)
})

function bodyOf(paths: Json): Json {
  return at(paths, REGISTER, 'post', 'requestBody', 'content', 'application/json', 'schema') ?? {}
}
