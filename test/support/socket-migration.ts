import { readFile, writeFile } from 'node:fs/promises'

const SETTING = '/proc/sys/net/ipv4/tcp_migrate_req'

/**
 * Makes Linux hand pending connections of a closed socket to another one, as `service install` does. `isOn` is false if that is
 * not allowed: then a connection made at the very moment of a handover may be reset.
 */
export async function enableSocketMigration() {
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
