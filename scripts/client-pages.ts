import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ROOT } from './root.ts'

/** The pages of `docs` for app developers, those of the stores last. The first becomes the package's README. */
const PAGES = [
  'client.md',
  'client-react.md',
  'client-testing.md',
  'sign-in.md',
  'user-data.md',
  'payload-encryption.md',
  'other-languages.md',
  ...[...new Bun.Glob('*-react-native.md').scanSync(join(ROOT, 'docs'))].toSorted(),
]
const README = 'README.md'

/** The pages in the package, by file name. Links to pages that it does not contain become text. */
export async function readPages(): Promise<[name: string, text: string][]> {
  return Promise.all(
    PAGES.map(async (page) => {
      const text = await readFile(join(ROOT, 'docs', page), 'utf8')
      return [nameOf(page), text.replace(/\[([^\]]+)\]\(([^):#]+\.md)?(#[^)]*)?\)/g, relink)]
    }),
  )
}

function relink(link: string, label: string, page = '', anchor = ''): string {
  if (page === '') return link
  const text = label === page ? nameOf(page) : label
  return PAGES.includes(page) ? `[${text}](${nameOf(page)}${anchor})` : label
}

function nameOf(page: string): string {
  return page === PAGES[0] ? README : page
}
