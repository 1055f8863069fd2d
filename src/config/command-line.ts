import { relative, resolve } from 'node:path'
import { userName } from '../lib/text/user-name.ts'
import { type Config, DEFAULT_DATA_DIR, readDotEnv } from './config.ts'

type Place = Pick<Config, 'dataDir' | 'notifySocket'>

/** The command line that runs a command on the server's data, with the program as the user typed it. */
export function formatCommand({ dataDir, notifySocket }: Place, ...words: string[]): string {
  const isService = notifySocket !== null
  const uid = process.getuid?.()
  const isDefault = resolve(readDotEnv().variables['DATA_DIR'] ?? DEFAULT_DATA_DIR) === dataDir
  return [
    ...(isService && uid !== undefined ? ['sudo', '-u', userName(uid)] : []),
    ...(isDefault && !isService ? [] : [`DATA_DIR=${quote(dataDir)}`]),
    ...readTypedProgram().map(quote),
    ...words,
  ].join(' ')
}

/** The command that creates the first operator. Browsers elsewhere need not know where the program and the data are. */
export function formatFirstCommand(place: Place, isLocal: boolean): string {
  const words = ['operators', 'add', 'your-name']
  return isLocal ? formatCommand(place, ...words) : ['homeport', ...words].join(' ')
}

function readTypedProgram(): string[] {
  return Bun.isStandaloneExecutable
    ? [process.argv0]
    : [process.argv0, relative(process.cwd(), Bun.main)]
}

/** Quotes a word for a shell. */
function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}
