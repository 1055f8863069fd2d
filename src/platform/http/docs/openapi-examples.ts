type Node = Record<string, unknown>

/** An example of an error by status. */
const FAILURES: Record<string, [code: string, message: string]> = {
  '400': ['malformed_request', 'The body is not valid JSON in UTF-8.'],
  '401': ['unauthenticated', 'The token is invalid or has expired: sign in again.'],
  '403': ['forbidden', 'This is not allowed.'],
  '404': ['not_found', 'Not found.'],
  '409': ['conflict', 'There is no address to confirm.'],
  '412': [
    'precondition_failed',
    'The data has changed in the meantime. Load it again, then repeat the change.',
  ],
  '413': ['payload_too_large', 'The body must not exceed 65536 bytes.'],
  '415': ['unsupported_media_type', 'Send the body as Content-Type: application/json.'],
  '422': ['validation_failed', 'Some fields are invalid.'],
  '429': ['rate_limited', 'Too many attempts. Wait a moment and try again.'],
  '503': ['unavailable', 'The database is unavailable. Try again in a moment.'],
  '507': ['insufficient_storage', 'The server has no space left. Try again later.'],
}

/** The content of a response, with an example of an error of this status. */
export function withFailureExample(
  status: string,
  content: Record<string, Node>,
): Record<string, Node> {
  const [code, message] = FAILURES[status] ?? []
  const json = content['application/json']
  if (code === undefined || !json) return content
  const requestId = '5f0c6d3e-3c2b-4c8e-9a75-1d1f5f0a8c11'
  return { 'application/json': { ...json, example: { code, message, requestId } } }
}

/** The documentation page would send the example with every test request, so it moves into the description. */
export function withoutExample(parameter: Node): Node {
  const { schema, description } = parameter as { schema?: Node; description?: string }
  const { examples, ...rest } = schema ?? {}
  if (parameter['required'] || !Array.isArray(examples)) return parameter
  const text = `${description}. Example: \`${examples[0]}\``
  return { ...parameter, description: text, schema: withoutExamples(rest) }
}

/** A number is documented as a union of text and number, both with the examples. */
function withoutExamples({ examples: _examples, anyOf, ...rest }: Node): Node {
  if (!Array.isArray(anyOf)) return rest
  return { ...rest, anyOf: (anyOf as Node[]).map(withoutExamples) }
}
