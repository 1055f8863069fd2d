import type { RefObject } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { FoundUsers } from '../../features/users/accounts/directory.ts'
import { encodeSegment } from '../../lib/text/path-segment.ts'
import { readQuietly } from '../api.ts'
import { unnamedUser } from '../format.ts'
import { go, linkTo, query } from '../router.ts'

type Hit = { href: string; text: string; note?: string }
type Group = { name: string; hits: Hit[] }
type Found = { text: string; groups: Group[]; isAll: boolean }

const MIN_LENGTH = 2
/** How long after the last key the search starts. */
const DELAY_MS = 150
const MAX_HITS = 5

/** Searches users, purchases and events while the operator types. Enter opens a single hit, or else the list. */
export function Search({ input }: { input: RefObject<HTMLInputElement | null> }) {
  const searched = query.value.get('q') ?? ''
  const [text, setText] = useState(searched)
  const [found, setFound] = useState<Found | null>(null)
  const form = useRef<HTMLFormElement>(null)
  const latest = useRef('')
  // An effect after the first paint would undo what is typed as soon as the field appears.
  useLayoutEffect(() => setText(searched), [searched])
  const close = () => {
    latest.current = ''
    setFound(null)
  }
  const type = (typed: string) => {
    setText(typed)
    const wanted = typed.trim()
    latest.current = wanted
    if (wanted.length < MIN_LENGTH) return setFound(null)
    setTimeout(async () => {
      if (latest.current !== wanted) return
      const next = await find(wanted).catch(() => null)
      if (latest.current === wanted) setFound(next)
    }, DELAY_MS)
  }
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    const wanted = text.trim()
    close()
    const from = location.href
    const submitted = `${wanted} `
    latest.current = submitted
    const isNew = wanted !== searched && wanted.length >= MIN_LENGTH
    const hits = isNew ? await find(wanted).catch(() => null) : null
    // The operator has gone elsewhere, or types the next search.
    if (latest.current !== submitted || location.href !== from) return
    const target = onlyHit(hits) ?? linkTo('people', { q: wanted })
    // The heading of another screen takes the focus.
    if (new URL(target, from).pathname !== location.pathname) input.current?.blur()
    go(target)
  }
  const move = (event: KeyboardEvent) => {
    if (event.key === 'Escape') {
      input.current?.focus()
      return close()
    }
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    const places = [...(form.current?.querySelectorAll<HTMLElement>('input, .hits a') ?? [])]
    if (by === undefined || places.length < 2) return
    event.preventDefault()
    places[places.indexOf(document.activeElement as HTMLElement) + by]?.focus()
  }
  return (
    <form
      ref={form}
      onSubmit={submit}
      action={linkTo('people')}
      onKeyDown={move}
      onFocusOut={({ relatedTarget }) =>
        form.current?.contains(relatedTarget as Node | null) || close()
      }
    >
      <input
        ref={input}
        type="search"
        name="q"
        value={text}
        onInput={(event) => type(event.currentTarget.value)}
        aria-label="Search"
        placeholder="Search people or orders"
        title="E-mail, name, id or receipt (⌘K or Ctrl K)"
        autocomplete="off"
        autocapitalize="none"
      />
      {found && <Hits {...found} onOpen={close} />}
    </form>
  )
}

function Hits({ text, groups, onOpen }: Found & { onOpen: () => void }) {
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the links inside handle the keyboard
    // biome-ignore lint/a11y/noStaticElementInteractions: likewise
    <div class="hits" onClick={onOpen}>
      <p role="status" class={groups.length > 0 ? 'unseen' : 'soft'}>
        {groups.length > 0 ? 'Arrow keys move through the results.' : 'No matches.'}
      </p>
      {groups.map(({ name, hits }) => (
        <section key={name} aria-label={name}>
          <h2 class="soft">{name}</h2>
          {hits.map((hit) => (
            <a key={hit.href} href={hit.href}>
              {hit.text} <span class="soft">{hit.note}</span>
            </a>
          ))}
        </section>
      ))}
      {groups.length > 0 && <a href={linkTo('people', { q: text })}>All results</a>}
    </div>
  )
}

async function find(text: string): Promise<Found> {
  const path = `people?q=${encodeURIComponent(text)}`
  const { users, purchaseIds, eventId, unlinkedIds, next } = await readQuietly<FoundUsers>(path)
  const groups: Group[] = [
    {
      name: 'Users',
      hits: users.map(({ id, email, name }) => {
        return { href: linkTo(`people/${id}`), text: email || unnamedUser(id), note: name }
      }),
    },
    {
      name: 'Purchases',
      hits: purchaseIds.map((id) => ({ href: linkTo(`purchases/${encodeSegment(id)}`), text: id })),
    },
    {
      name: 'App user ids without an account',
      hits: unlinkedIds.map((id) => ({ href: linkTo('purchases', { id }), text: id })),
    },
    {
      name: 'Events',
      hits:
        eventId === null
          ? []
          : [{ href: linkTo(`events/${encodeSegment(eventId)}`), text: eventId }],
    },
  ]
  return {
    text,
    groups: groups
      .filter(({ hits }) => hits.length > 0)
      .map(({ name, hits }) => ({ name, hits: hits.slice(0, MAX_HITS) })),
    isAll: next === null && groups.every(({ hits }) => hits.length <= MAX_HITS),
  }
}

/** The exact match of an id or address, else the only hit; a purchase wins over its owner. Null for several hits. */
function onlyHit(found: Found | null): string | null {
  if (!found) return null
  const all = found.groups.flatMap(({ hits }) => hits)
  const exact = all.filter((hit) => found.text.endsWith(hit.text))
  if (exact.length === 1) return exact[0]?.href ?? null
  const purchases = found.groups.filter(({ name }) => name === 'Purchases')
  const hits = (purchases.length > 0 ? purchases : found.groups).flatMap((group) => group.hits)
  return found.isAll && hits.length === 1 ? (hits[0]?.href ?? null) : null
}
