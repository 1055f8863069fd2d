import { readFile, writeFile } from 'node:fs/promises'

const SETTING = '/proc/sys/net/ipv4/tcp_migrate_req'

/**
 * Tells Linux to hand on what waits at a socket that is closed, as `service install` does. `isOn` is false where that is
 * not allowed: then a connection that is made in the very instant of a change may be reset.
 */
export async function migrateSockets() {
  const before = await readFile(SETTING, 'utf8').catch(() => '0')
  const isSet = await writeFile(SETTING, '1').then(
    () => true,
    () => false,
  )
  return {
    isOn: isSet || before.startsWith('1'),
    [Symbol.asyncDispose]: () => writeFile(SETTING, before).catch(() => {}),
  }
}
