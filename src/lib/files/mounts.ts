import { readFileSync, realpathSync } from 'node:fs'
import { existingParent } from './free-space.ts'

/** The mount that contains `path`, which may not exist yet; null where `mounts`, a file of Linux, cannot be read. */
export function findMount(path: string, mounts = '/proc/self/mounts') {
  try {
    const real = `${realpathSync(existingParent(path))}/`
    let found = { at: '', type: '', isExecutable: true }
    for (const line of readFileSync(mounts, 'utf8').split('\n')) {
      const [, encoded = '', type = '', options = ''] = line.split(' ')
      const at = encoded.replaceAll('\\040', ' ').replace(/\/?$/, '/')
      // A later mount hides an earlier one at the same place.
      if (encoded === '' || !real.startsWith(at) || at.length < found.at.length) continue
      found = { at, type, isExecutable: !options.split(',').includes('noexec') }
    }
    return found
  } catch {
    return null
  }
}
