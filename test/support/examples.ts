import { join } from 'node:path'

const DOCS = join(import.meta.dir, '..', '..', 'docs')

/** The code example in a page of `docs` whose first line is `// <name>`. */
export async function readExample(page: string, name: string): Promise<string> {
  const [, code] = (await Bun.file(join(DOCS, page)).text()).split(`\`\`\`js\n// ${name}\n`)
  if (code === undefined) throw new Error(`docs/${page} has no ${name}`)
  return code.slice(0, code.indexOf('\n```'))
}
