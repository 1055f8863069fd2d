import type { Tx } from './db.ts'

type Builders = Pick<Tx, 'select' | 'selectDistinct' | 'insert' | 'update' | 'delete' | '$count'>

/** The query builders of a change, bound so that they can be spread into a `Tx`. */
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
