import type { Db, Reader, Tx } from './db.ts'

/** Prepares a select that runs on the last commit (`from` is `db.read`) as well as in changes. */
export function prepareSelect<Q>(
  db: Pick<Db<unknown>, 'read' | 'prepareWrite'>,
  build: (from: Reader) => { prepare(): Q },
): (from: Reader) => Q {
  const inChange = db.prepareWrite(build)
  let outside: Q | null = null
  return (from) => {
    if (from !== db.read) return inChange(from as Tx)
    outside ??= build(db.read).prepare()
    return outside
  }
}
