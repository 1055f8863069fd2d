import type { AccountSummary, Page } from '../features/people/accounts/directory.ts'

type FindPeopleDeps = {
  listPeople: (page: Page) => Promise<{ users: AccountSummary[]; next: string | null }>
  /** Those of `ids` that are people, at most a page. */
  peopleOf: (ids: string[]) => Promise<AccountSummary[]>
  /** The app user ids of the customer that an app user id, or the beginning of a transaction id, belongs to. */
  customerIdsOf: (text: string) => Promise<string[]>
}

const LEAST = 4

/**
 * Finds people by whatever an operator has at hand: the beginning of an e-mail address, an id of ours, an app user id,
 * or the beginning of a transaction id. `strangers`: app user ids that events name and no person has.
 */
export function createFindPeople({ listPeople, peopleOf, customerIdsOf }: FindPeopleDeps) {
  return async (text: string, after: string | undefined) => {
    const wanted = text.trim()
    const page = { ...(after === undefined ? {} : { after }) }
    if (wanted === '') return { ...(await listPeople(page)), strangers: [] }
    const { users, next } = await listPeople({ ...page, emailPrefix: wanted })
    if (after !== undefined || wanted.length < LEAST) return { users, next, strangers: [] }
    const ids = await customerIdsOf(wanted)
    const others = await peopleOf([wanted, ...ids])
    const known = new Set(others.map(({ id }) => id))
    const added = others.filter(({ id }) => !users.some((one) => one.id === id))
    return { users: [...added, ...users], next, strangers: ids.filter((id) => !known.has(id)) }
  }
}
