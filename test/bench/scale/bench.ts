import { existsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { buildExecutable, installExecutable } from '../../support/executable.ts'
import { benchConsole } from './console.ts'
import { makeLargeData, sizeOf } from './large-data.ts'

/**
 * `bun run bench:scale [share] [folder]`: what operators ask for, over so much of a million people and ten million
 * events. The data is made once, and kept in `folder`, else in the cache of the user.
 */
const share = Number(process.argv[2] ?? 1)
const folder = process.argv[3] ?? join(homedir(), '.cache', 'homeport', `scale-${share}`)
const size = sizeOf(share)

if (!existsSync(folder)) {
  const partial = `${folder}.partial`
  await rm(partial, { recursive: true, force: true })
  await makeLargeData(partial, size, (text) => console.log(text))
  await rename(partial, folder)
}
await buildExecutable()
await using homeport = await installExecutable()
const environment = { DATA_DIR: folder, LOG_LEVEL: 'warn', RATE_LIMITS: 'off' }
const { port, stop } = await homeport.start(environment)
const name = `bench-${Date.now()}`
const { stdout } = await homeport.run(['operators', 'add', name, '--json'], environment)
const { link } = JSON.parse(stdout) as { link: string }
console.log('p50, p99 and the slowest of 300, in ms')
for (const { name, p50, p99, slowest } of await benchConsole(
  `http://localhost:${port}`,
  link,
  size,
)) {
  console.log([name.padEnd(28), p50, p99, slowest].join('\t'))
}
await homeport.run(['operators', 'remove', name, '--yes'], environment)
await stop()
