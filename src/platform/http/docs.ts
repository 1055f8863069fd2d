import { type AnyElysia, Elysia } from 'elysia'
import style from 'swagger-ui-dist/swagger-ui.css' with { type: 'file' }
import script from 'swagger-ui-dist/swagger-ui-bundle.js' with { type: 'file' }
import { normalizeOpenApi, type OpenApi } from './openapi.ts'

const CSP =
  "default-src 'none'; connect-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Homeport</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/style.css">
</head>
<body>
<div id="docs"></div>
<script src="/docs/script.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`
/** Requests can be tried; a token that was given is kept for the next visit of this browser. */
const START = `SwaggerUIBundle({ url: '/docs/json', dom_id: '#docs', validatorUrl: null, persistAuthorization: true })`

/**
 * `/docs` for people and `/docs/json` (OpenAPI 3.0.3) for generators, with `?simple` for those that know no `oneOf`. Nothing is loaded
 * from elsewhere.
 */
export function docs(readDocument: (isSimple: boolean) => Promise<OpenApi>) {
  const documents = new Map<boolean, Promise<OpenApi>>()
  return new Elysia({ name: 'docs' })
    .get('/docs', () => page(PAGE, 'text/html; charset=utf-8'), hidden)
    .get(
      '/docs/json',
      async ({ request }) => {
        const isSimple = new URL(request.url).searchParams.has('simple')
        const document = documents.get(isSimple) ?? readDocument(isSimple)
        documents.set(isSimple, document)
        return Response.json(await document)
      },
      hidden,
    )
    .get('/docs/start.js', () => page(START, 'text/javascript; charset=utf-8'), hidden)
    .get('/docs/script.js', () => page(Bun.file(script), 'text/javascript; charset=utf-8'), hidden)
    .get('/docs/style.css', () => page(Bun.file(style), 'text/css; charset=utf-8'), hidden)
}

/** The interface of an app as OpenAPI 3.0.3. The plugin's own page and document are never served. */
export async function describeApi(
  app: AnyElysia,
  version: string,
  about: {
    description: string
    tags: Record<string, string>
    server: string
    isSimple: boolean
  },
): Promise<OpenApi> {
  // Nothing else needs the plugin, which takes as long to load as half of the start.
  const { swagger } = await import('@elysiajs/swagger')
  const documentation = { info: { title: 'Homeport', version, description: about.description } }
  const plugin = swagger({ specPath: '/raw', documentation, excludeStaticFile: false })
  const described = new Elysia().use(plugin).use(app)
  const response = await described.handle(new Request('http://localhost/raw'))
  return normalizeOpenApi((await response.json()) as OpenApi, about)
}

const hidden = { detail: { hide: true } }

function page(content: string | Blob, type: string): Response {
  return new Response(content, {
    headers: { 'content-type': type, 'content-security-policy': CSP },
  })
}
