type Node = Record<string, unknown>

const text = (description: string, example: string, constraints: Node = {}) => ({
  description,
  schema: { type: 'string', ...constraints },
  example,
})

/** The example is in the description: a documentation page would fill in and send an `example`. */
const optional = (name: string, description: string, example: string, constraints: Node = {}) => ({
  in: 'header',
  name,
  description: `${description}. Example: \`${example}\``,
  schema: { type: 'string', ...constraints },
})

/** Not parameters, which generators would add to every function: apps set them once, as default headers. */
export const commonHeaders: Node[] = [
  optional(
    'env',
    '`test`, empty or absent: plain JSON. Any other word: requests and responses are sealed',
    'test',
    { pattern: '^[A-Za-z0-9_-]{1,32}$' },
  ),
  optional(
    'device',
    'the name by which the user recognizes this device, `ios` by default; in UTF-8 or percent-encoded. Names the platform, such as `android`, for clients without `App-Platform`',
    'Pixel 9',
    { maxLength: 200 },
  ),
  optional(
    'timezone',
    'the time zone of new accounts as an IANA name or an offset; UTC by default',
    'Europe/Berlin',
  ),
  optional(
    'Accept-Language',
    'the language of content, messages and new accounts; English by default',
    'pt-BR, en;q=0.8',
  ),
]

/** By component name. */
const REQUEST_HEADERS: Record<string, Node> = {
  IdempotencyKey: optional(
    'Idempotency-Key',
    'the same for every attempt at an upload: a retry within 24 hours and the next 100 uploads stores nothing new',
    '5f0c6d3e',
    { pattern: '^[!-~]{1,64}$' },
  ),
  XFileName: optional(
    'X-File-Name',
    'the name of a file that is sent as the raw body; percent-encoded',
    'photo.jpg',
  ),
  IfMatch: optional(
    'If-Match',
    'the `ETag` of the response that a change is based on, or `*`: the server answers 412 if the content has changed since',
    '"RBNvo1WzZ4oRRq0W9-hknp.RBNvo1WzZ4oRRq0W9-hknp"',
  ),
  LastEventId: optional(
    'Last-Event-ID',
    'the id of the last event that the app has received: the events since then are sent first',
    '01a1fecb-4162-75f8-b13e-d84fd1f88be2',
  ),
  IfNoneMatch: optional(
    'If-None-Match',
    'the `ETag` of a cached response: the server answers 304 if it has not changed. Leave it out if your client treats 304 as an error',
    '"k3v9qw1x5c7b2n4m6j8h0g"',
  ),
}

const RESPONSE_HEADERS: Record<string, Node> = {
  XRequestId: text(
    'identifies the request in the server’s log',
    '5f0c6d3e-3c2b-4c8e-9a75-1d1f5f0a8c11',
  ),
  RetryAfter: {
    description: 'seconds to wait before trying again',
    schema: { type: 'integer', format: 'int32', minimum: 0, maximum: 2_147_483_647 },
    example: 5,
  },
  WwwAuthenticate: text('the authentication scheme', 'Bearer realm="homeport"'),
  ETag: text('changes with the content', '"k3v9qw1x5c7b2n4m6j8h0g"'),
  CacheControl: text('how long the response may be cached', 'public, max-age=300'),
  ContentLanguage: text('the language of the texts', 'en'),
}

export const headerComponents = { parameters: REQUEST_HEADERS, headers: RESPONSE_HEADERS }

export function headerParameters(names: string[]): Node[] {
  return names.map((name) => ({ $ref: `#/components/parameters/${name}` }))
}

/**
 * The headers of a response with `status`. `isCached`: whether the endpoint is public and cached; `hasTexts`: whether
 * the data of its response has texts in a language. Messages and failures have them anyway.
 */
export function responseHeaders(
  status: string,
  {
    isCached,
    hasEntityTag,
    hasTexts,
  }: { isCached: boolean; hasEntityTag: boolean; hasTexts: boolean },
): Node {
  const names = [['X-Request-Id', 'XRequestId']]
  if (status === '401') names.push(['WWW-Authenticate', 'WwwAuthenticate'])
  if (status === '429' || status === '503') names.push(['Retry-After', 'RetryAfter'])
  if (status === '200' || status === '304') {
    if (hasEntityTag) names.push(['ETag', 'ETag'])
    if (isCached) names.push(['Cache-Control', 'CacheControl'])
  }
  if (Number(status) >= 400 || (hasTexts && status === '200'))
    names.push(['Content-Language', 'ContentLanguage'])
  return Object.fromEntries(
    names.map(([header, name]) => [header, { $ref: `#/components/headers/${name}` }]),
  )
}
