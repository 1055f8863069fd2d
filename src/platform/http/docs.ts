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
/** The page can send test requests; the browser keeps a token for the next visit. */
const START = `SwaggerUIBundle({ url: '/docs/json', dom_id: '#docs', validatorUrl: null, persistAuthorization: true })`

/**
 * `/docs` is the documentation page and `/docs/json` the OpenAPI 3.0.3 document, with `?simple` for generators without
 * `oneOf`. Nothing is loaded from other origins.
 */
export function docs(readDocument: (isSimple: boolean) => Promise<OpenApi>) {
  const documents = new Map<boolean, Promise<OpenApi>>()
  return new Elysia({ name: 'docs' })
    .get('/docs', () => send(PAGE, 'text/html; charset=utf-8'), hidden)
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
    .get('/docs/start.js', () => send(START, 'text/javascript; charset=utf-8'), hidden)
    .get('/docs/script.js', () => send(Bun.file(script), 'text/javascript; charset=utf-8'), hidden)
    .get('/docs/style.css', () => send(Bun.file(style), 'text/css; charset=utf-8'), hidden)
}

/** The OpenAPI 3.0.3 document of an app. The plugin's own page and document are never served. */
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
  // Loading the plugin takes half as long as the whole startup, and only this function needs it.
  const { swagger } = await import('@elysiajs/swagger')
  const documentation = { info: { title: 'Homeport', version, description: about.description } }
  const plugin = swagger({ specPath: '/raw', documentation, excludeStaticFile: false })
  const described = new Elysia().use(plugin).use(app)
  const response = await described.handle(new Request('http://localhost/raw'))
  return normalizeOpenApi((await response.json()) as OpenApi, about)
}

const hidden = { detail: { hide: true } }

function send(content: string | Blob, type: string): Response {
  return new Response(content, {
    headers: { 'content-type': type, 'content-security-policy': CSP },
  })
}
