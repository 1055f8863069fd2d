import type { Tx } from './db.ts'

type Builders = Pick<Tx, 'select' | 'selectDistinct' | 'insert' | 'update' | 'delete' | '$count'>

/** What a change builds its queries with, free of the object that it stands on. */
export function buildersOf(queries: Builders): Builders {
  return {
    select: queries.select.bind(queries),
    selectDistinct: queries.selectDistinct.bind(queries),
    insert: queries.insert.bind(queries),
    update: queries.update.bind(queries),
    delete: queries.delete.bind(queries),
    $count: queries.$count.bind(queries),
  }
}
