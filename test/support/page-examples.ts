import { basename, join } from 'node:path'
import { PAGES } from './app-projects.ts'

/** Writes the code examples of a page in `docs`, each of which names its file in the first line. Returns their paths. */
export async function writeExamples(page: string, language: string, folder: string) {
  const text = await Bun.file(join(PAGES, page)).text()
  const blocks = [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))]
  return Promise.all(
    blocks.map(async ([, code = '']) => {
      const [first = ''] = code.split('\n')
      const name = first.match(/^\/\/ (\w+\.\w+)$/)?.[1]
      if (name === undefined) throw new Error(`docs/${page}: the example names no file: ${first}`)
      const path = join(folder, basename(name))
      await Bun.write(path, code)
      return path
    }),
  )
}
