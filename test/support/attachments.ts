import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestApp } from './app.ts'

export const PATH = '/api/user/attachments/v1'

export function uploadForm(
  app: TestApp,
  token: string,
  files: [string, Buffer | string][],
  query: Record<string, string>,
) {
  const form = new FormData()
  for (const [name, content] of files) form.append('file', new Blob([content]), name)
  return app.ask('POST', `${PATH}?${new URLSearchParams(query)}`, { token, body: form })
}

/** Uploads one file as the raw request body. */
export function uploadBody(
  app: TestApp,
  token: string,
  body: Bun.BodyInit,
  contentType: string,
  type: string,
  headers: Record<string, string> = {},
) {
  return app.ask('POST', `${PATH}?type=${type}`, {
    token,
    body,
    headers: { 'content-type': contentType, ...headers },
  })
}

export function fetchFile(app: TestApp, url: string, headers: Record<string, string> = {}) {
  return app.app.handle(new Request(url, { headers }))
}

/** The names of all stored files. */
export async function filesOf(app: TestApp): Promise<string[]> {
  const folder = join(app.dataDir, 'files')
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name)
}
