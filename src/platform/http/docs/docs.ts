import { type AnyElysia, Elysia } from 'elysia'
import style from 'swagger-ui-dist/swagger-ui.css' with { type: 'file' }
import script from 'swagger-ui-dist/swagger-ui-bundle.js' with { type: 'file' }
import { normalizeOpenApi, type OpenApi } from './openapi.ts'

const CSP =
  "default-src 'none'; connect-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

const page = (path: string) => `<!doctype html>
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
<script src="${path}/start.js"></script>
</body>
</html>
`
/** The page can send test requests; the browser keeps a token for the next visit. */
const start = (path: string) =>
  `SwaggerUIBundle({ url: '${path}/json', dom_id: '#docs', validatorUrl: null, persistAuthorization: true })`

/** The files of the documentation pages. Nothing is loaded from other origins. */
export function docsFiles() {
  return new Elysia({ name: 'docs-files' })
    .get(
      '/docs/script.js',
      async () => send(await unpack(script), 'text/javascript; charset=utf-8'),
      hidden,
    )
    .get(
      '/docs/style.css',
      async () => send(await unpack(style), 'text/css; charset=utf-8'),
      hidden,
    )
}

/** `<path>/json` is the OpenAPI 3.0.3 document, with `?simple` for generators without `oneOf`. */
export function docs(path: string, readDocument: (isSimple: boolean) => Promise<OpenApi>) {
  const documents = new Map<boolean, OpenApi>()
  return new Elysia({ name: `docs ${path}` })
    .get(path, () => send(page(path), 'text/html; charset=utf-8'), hidden)
    .get(
      `${path}/json`,
      async ({ request }) => {
        const isSimple = new URL(request.url).searchParams.has('simple')
        const document = documents.get(isSimple) ?? (await readDocument(isSimple))
        documents.set(isSimple, document)
        return Response.json(document)
      },
      hidden,
    )
    .get(`${path}/start.js`, () => send(start(path), 'text/javascript; charset=utf-8'), hidden)
}

/** The OpenAPI 3.0.3 document of an app. The plugin's own page and document are never served. */
export async function describeApi(
  app: AnyElysia,
  about: {
    title?: string
    version: string
    description: string
    tags: Record<string, string>
    server: string
    isSimple: boolean
  },
): Promise<OpenApi> {
  // Loading the plugin takes half as long as the whole startup, and only this function needs it.
  const { swagger } = await import('@elysiajs/swagger')
  const { title = 'Homeport', version, description } = about
  const documentation = { info: { title, version, description } }
  const plugin = swagger({ specPath: '/raw', documentation, excludeStaticFile: false })
  const described = new Elysia().use(plugin).use(app)
  const response = await described.handle(new Request('http://localhost/raw'))
  return normalizeOpenApi((await response.json()) as OpenApi, about)
}

const hidden = { detail: { hide: true } }

/** A file of Swagger UI, which `scripts/build.ts` compresses. */
async function unpack(path: string): Promise<Uint8Array> {
  const bytes = await Bun.file(path).bytes()
  return Bun.isStandaloneExecutable ? Bun.zstdDecompress(bytes) : bytes
}

function send(content: string | Uint8Array, type: string): Response {
  return new Response(content, {
    headers: { 'content-type': type, 'content-security-policy': CSP },
  })
}
