import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { brotliCompressSync } from 'node:zlib'
import { sha256 } from '../src/lib/crypto/hash.ts'
import { ROOT } from './root.ts'

const SOURCE = join(ROOT, 'src/console')

/** The first versions that have everything the console uses. */
export const MINIMUM = { Chrome: 117, Firefox: 128, Safari: 17.4 }
/** The sentence on the page, and in `docs/console.md`. */
export const MINIMUM_TEXT = `Chrome or Edge ${MINIMUM.Chrome}, Firefox ${MINIMUM.Firefox}, Safari ${MINIMUM.Safari}, or later`

/** Runs in browsers of any age. The features that it checks for came with, or just before, `MINIMUM`. */
const CHECK = `if (!(window.Map && Map.groupBy && window.CSS && CSS.supports('selector(:has(a))'))) {
  document.getElementById('too-old').removeAttribute('hidden')
}
`

/** A file of the console. Every name except `index.html` contains a hash of the content. */
type PageFile = { name: string; content: Uint8Array<ArrayBuffer> }

/** Builds the operator's console: the entry point and its lazily loaded chunks. */
export async function buildConsole(): Promise<PageFile[]> {
  const built = await Bun.build({
    entrypoints: [join(SOURCE, 'main.tsx')],
    target: 'browser',
    minify: true,
    splitting: true,
    naming: { entry: 'console-[hash].js', chunk: 'chunk-[hash].js' },
    define: { 'process.env.NODE_ENV': '"production"' },
    tsconfig: join(SOURCE, 'tsconfig.json'),
  })
  if (!built.success) throw new Error(built.logs.join('\n'))
  const scripts = await Promise.all(
    built.outputs.map(async (output) => ({
      name: output.path.replace(/^.*\//, ''),
      content: new Uint8Array(await output.arrayBuffer()),
      isEntry: output.kind === 'entry-point',
    })),
  )
  const style = createHashedFile('console', 'css', await buildStyleSheet())
  const icon = createHashedFile('icon', 'svg', await Bun.file(join(SOURCE, 'icon.svg')).text())
  const check = createHashedFile('check', 'js', CHECK)
  const entry = scripts.find(({ isEntry }) => isEntry)?.name ?? ''
  const page = new TextEncoder().encode(renderPage(entry, check.name, style.name, icon.name))
  return [
    { name: 'index.html', content: page },
    style,
    icon,
    check,
    ...scripts.map(({ name, content }) => ({ name, content })),
  ]
}

/** Writes the files to `folder`, each with its compressed forms. */
export async function writeConsole(folder: string) {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  for (const { name, content } of await buildConsole()) {
    await Bun.write(join(folder, name), content)
    await Bun.write(join(folder, `${name}.gz`), Bun.gzipSync(content, { level: 9 }))
    await Bun.write(join(folder, `${name}.br`), brotliCompressSync(content))
  }
}

async function buildStyleSheet(): Promise<string> {
  const built = await Bun.build({
    entrypoints: [join(SOURCE, 'style.css')],
    minify: true,
  })
  return (await built.outputs[0]?.text()) ?? ''
}

function createHashedFile(name: string, extension: string, text: string): PageFile {
  const content = new TextEncoder().encode(text)
  return { name: `${name}-${sha256(content, 'hex').slice(0, 8)}.${extension}`, content }
}

function renderPage(script: string, check: string, style: string, icon: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Console</title>
<link rel="icon" href="/console/assets/${icon}">
<link rel="stylesheet" href="/console/assets/${style}">
<script defer src="/console/assets/${check}"></script>
<script type="module" src="/console/assets/${script}"></script>
</head>
<body>
<noscript>The console needs JavaScript.</noscript>
<div id="too-old" hidden>
<main class="login">
<h1>This browser is too old</h1>
<p>The console needs ${MINIMUM_TEXT}.</p>
</main>
</div>
</body>
</html>
`
}

if (import.meta.main) await writeConsole(join(ROOT, 'dist', 'console'))
