import { join } from 'node:path'
import { exampleEnvironment, settingsPage } from '../src/config/reference.ts'
import { ROOT } from './root.ts'

/** The generated files, by path. */
export async function references(): Promise<Record<string, string>> {
  const page = await Bun.file(join(ROOT, 'docs/settings.md')).text()
  const [introduction = ''] = page.split('\n## ')
  return { 'docs/settings.md': settingsPage(introduction), '.env.example': exampleEnvironment() }
}

if (import.meta.main) {
  for (const [path, text] of Object.entries(await references())) {
    await Bun.write(join(ROOT, path), text)
    console.log(`${path} is written.`)
  }
}
