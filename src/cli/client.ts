import { stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { CommandError, UsageError } from '../lib/command.ts'
import { CLIENT_PACKAGE_NAME, readClientPackage } from '../platform/http/docs/client-package.ts'
import { VERSION } from '../version.ts'
import { confirmReplacement, isFolder } from './backup/target.ts'
import { localCommand } from './command.ts'

export const client = localCommand({
  name: 'client',
  summary: 'Write the client package of this version, the same file as /client.tgz',
  options: [
    ['--out <path>', `a file or a folder; ${CLIENT_PACKAGE_NAME} in the current folder by default`],
    ['--yes', 'replace an existing file without asking'],
  ],
  work: async (_loadConfig, { out, yes }) => {
    const found = await readClientPackage()
    if (found === null)
      throw new CommandError('The client package is not built: run "bun run build" first.')
    const { bytes, integrity } = found
    const path = await chooseFile(typeof out === 'string' ? out : '.', yes === true)
    await Bun.write(path, bytes)
    return { path, version: VERSION, bytes: bytes.length, integrity }
  },
  print: ({ path, version, bytes, integrity }) =>
    [
      `${path}: homeport-client ${version}, ${Math.round(bytes / 1000)} kB.`,
      `Integrity: ${integrity}`,
      `In the app: npm install ${path}`,
    ].join('\n'),
})

async function chooseFile(out: string, isConfirmed: boolean): Promise<string> {
  const path = (await isFolder(out)) ? join(resolve(out), CLIENT_PACKAGE_NAME) : resolve(out)
  const folder = dirname(path)
  if (!(await stat(folder).catch(() => null))?.isDirectory())
    throw new UsageError(`There is no folder ${folder}: create it first.`)
  return confirmReplacement(path, isConfirmed)
}
