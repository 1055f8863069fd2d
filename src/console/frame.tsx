import { useEffect, useRef, useState } from 'preact/hooks'
import { startKeys } from './keys.ts'
import { go, linkTo, parts, query } from './router.ts'
import { type Screen, screenOf } from './screens.tsx'
import type { Me } from './types.ts'
import { Dialog } from './ui/dialog.tsx'
import { clearBadMessages } from './ui/messages.tsx'

const PLACES: [path: string, name: string][] = [
  ['', 'Overview'],
  ['people', 'People'],
  ['events', 'Events'],
  ['settings', 'Settings'],
  ['plans', 'Plans'],
  ['faqs', 'FAQs'],
  ['files', 'Files'],
  ['rates', 'Rates'],
  ['metrics', 'Metrics'],
  ['live', 'Live'],
  ['backups', 'Backups'],
  ['keys', 'Keys'],
  ['audit', 'Audit'],
  ['operators', 'Operators'],
]

const SHORTCUTS: [keys: string, what: string][] = [
  ['/', 'search for people'],
  ['g o', 'overview'],
  ['g p', 'people'],
  ['g e', 'events'],
  ['g s', 'settings'],
  ['g a', 'audit'],
  ['j, k', 'next and previous in a list'],
  ['?', 'these keys'],
]

/** What is around every screen: search, places, and who sits here. */
export function Frame({ me }: { me: Me }) {
  const [isMenuOpen, setMenuOpen] = useState(false)
  const [isHelpOpen, setHelpOpen] = useState(false)
  const search = useRef<HTMLInputElement>(null)
  const [place = ''] = parts.value
  useEffect(
    () =>
      startKeys({ focusSearch: () => search.current?.focus(), showHelp: () => setHelpOpen(true) }),
    [],
  )
  useEffect(() => {
    setMenuOpen(false)
    clearBadMessages()
  }, [parts.value.join('/')])
  const CurrentScreen: Screen = screenOf(place)
  const find = (event: SubmitEvent) => {
    event.preventDefault()
    go(linkTo('people', { q: search.current?.value.trim() }))
  }
  return (
    <div class="frame">
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header class="bar">
        <a class="brand" href={linkTo('')}>
          Homeport
        </a>
        <form onSubmit={find} action={linkTo('people')}>
          <input
            ref={search}
            type="search"
            name="q"
            key={query.value.get('q') ?? ''}
            defaultValue={query.value.get('q') ?? ''}
            aria-label="Find people by e-mail address, id or transaction"
            placeholder="E-mail, id, transaction"
            autocomplete="off"
          />
        </form>
        <a class="menu" href={linkTo('me')}>
          {me.name}
        </a>
        <button
          type="button"
          class="toggle"
          aria-expanded={isMenuOpen}
          aria-controls="places"
          onClick={() => setMenuOpen(!isMenuOpen)}
          onKeyDown={(event) => event.key === 'Escape' && setMenuOpen(false)}
        >
          Menu
        </button>
      </header>
      <nav id="places" class={isMenuOpen ? 'side open' : 'side'} aria-label="Places">
        <ul>
          {PLACES.map(([path, name]) => (
            <li key={path}>
              <a href={linkTo(path)} aria-current={place === path ? 'page' : undefined}>
                {name}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <main id="content" tabIndex={-1}>
        <CurrentScreen key={parts.value.slice(0, 2).join('/')} me={me} />
      </main>
      {isHelpOpen && (
        <Dialog title="Keys" onClose={() => setHelpOpen(false)}>
          <dl class="facts">
            {SHORTCUTS.map(([keys, what]) => (
              <div key={keys}>
                <dt>
                  <kbd>{keys}</kbd>
                </dt>
                <dd>{what}</dd>
              </div>
            ))}
          </dl>
          <div class="actions end">
            <button type="button" onClick={() => setHelpOpen(false)}>
              Close
            </button>
          </div>
        </Dialog>
      )}
    </div>
  )
}
