import type { AccountSummary, FoundPeople, Page } from '../features/people/accounts/directory.ts'

type FindPeopleDeps = {
  listPeople: (page: Page) => Promise<{ users: AccountSummary[]; next: string | null }>
  /** Those of `ids` that are people, at most a page. */
  peopleOf: (ids: string[]) => Promise<AccountSummary[]>
  /** The app user ids of the customer that an app user id, or the beginning of a transaction id, belongs to. */
  customerIdsOf: (text: string) => Promise<string[]>
  /** Whether there is a billing event of an id. */
  isEvent: (id: string) => Promise<boolean>
}

const LEAST = 4
const NOTHING = { strangers: [], eventId: null }

/**
 * Finds people by whatever an operator has at hand: the beginning of an e-mail address, an id of ours, an app user id,
 * the beginning of a transaction id, or the id of an event.
 */
export function createFindPeople(deps: FindPeopleDeps) {
  const { listPeople, peopleOf, customerIdsOf, isEvent } = deps
  return async (text: string, after: string | undefined): Promise<FoundPeople> => {
    const wanted = text.trim()
    const page = { ...(after === undefined ? {} : { after }) }
    if (wanted === '') return { ...(await listPeople(page)), ...NOTHING }
    const { users, next } = await listPeople({ ...page, emailPrefix: wanted })
    if (after !== undefined || wanted.length < LEAST) return { users, next, ...NOTHING }
    const ids = await customerIdsOf(wanted)
    const others = await peopleOf([wanted, ...ids])
    const known = new Set(others.map(({ id }) => id))
    const added = others.filter(({ id }) => !users.some((one) => one.id === id))
    const strangers = ids.filter((id) => !known.has(id))
    const eventId = (await isEvent(wanted)) ? wanted : null
    return { users: [...added, ...users], next, strangers, eventId }
  }
}
