import { type AnyElysia, type Context, Elysia } from 'elysia'
import style from 'swagger-ui-dist/swagger-ui.css' with { type: 'file' }
import script from 'swagger-ui-dist/swagger-ui-bundle.js' with { type: 'file' }
import { hidden } from '../replies/envelope.ts'
import { publicReply, sendPublic } from '../replies/replies.ts'
import { normalizeOpenApi, type OpenApi } from './openapi.ts'

const CSP =
  "default-src 'none'; connect-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

const page = (path: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
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
/** The page can send test requests; the browser keeps a token for the next visit. Swagger UI sets its dark colours by class. */
const start = (path: string) =>
  `const dark = matchMedia('(prefers-color-scheme: dark)')
const show = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', show)
show()
SwaggerUIBundle({ url: '${path}/json', dom_id: '#docs', validatorUrl: null, persistAuthorization: true })`

const HTML = 'text/html; charset=utf-8'
const JS = 'text/javascript; charset=utf-8'
const JSON_TYPE = 'application/json; charset=utf-8'

/** The files of the documentation pages. Nothing is loaded from other origins. */
export function docsFiles() {
  const sendScript = serveFile(JS, () => unpack(script))
  const sendStyle = serveFile('text/css; charset=utf-8', () => unpack(style))
  return new Elysia({ name: 'docs-files' })
    .get('/docs/script.js', sendScript, hidden)
    .get('/docs/style.css', sendStyle, hidden)
}

/** `<path>/json` is the OpenAPI 3.0.3 document, with `?simple` for generators without `oneOf`. */
export function docs(path: string, readDocument: (isSimple: boolean) => Promise<OpenApi>) {
  const render = (isSimple: boolean) =>
    serveFile(JSON_TYPE, async () => JSON.stringify(await readDocument(isSimple)))
  const [complete, simple] = [render(false), render(true)]
  const sendPage = serveFile(HTML, async () => page(path))
  const sendStart = serveFile(JS, async () => start(path))
  return new Elysia({ name: `docs ${path}` })
    .get(path, sendPage, hidden)
    .get(
      `${path}/json`,
      (context) =>
        new URL(context.request.url).searchParams.has('simple')
          ? simple(context)
          : complete(context),
      hidden,
    )
    .get(`${path}/start.js`, sendStart, hidden)
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

/** A file of Swagger UI, which `scripts/build.ts` compresses. */
async function unpack(path: string): Promise<Uint8Array> {
  const bytes = await Bun.file(path).bytes()
  return Bun.isStandaloneExecutable ? Bun.zstdDecompress(bytes) : bytes
}

/** Serves the result of `read`, which is called once. */
function serveFile(type: string, read: () => Promise<string | Uint8Array>) {
  const headers = {
    'content-type': type,
    ...(type === JSON_TYPE ? {} : { 'content-security-policy': CSP }),
  }
  let reply: ReturnType<typeof publicReply> | null = null
  return async ({ request, set }: Pick<Context, 'request' | 'set'>) => {
    reply ??= publicReply(await read())
    return sendPublic(reply, { request, set }, 0, { headers })
  }
}
