import { useEffect, useRef, useState } from 'preact/hooks'
import { appTitle, identity, me } from '../operator.ts'
import { linkTo, parts } from '../router.ts'
import { SCREENS } from '../screens.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { dismissMessages, Messages } from '../ui/messages.tsx'
import { Details, Empty, Title } from '../ui/parts.tsx'
import { startKeys } from './keys.ts'
import { Navigation } from './navigation.tsx'
import { Search } from './search.tsx'

const SHORTCUTS: [keys: string, effect: string][] = [
  ['/, ⌘K, Ctrl K', 'Search'],
  ...SCREENS.flatMap(({ key, label = '' }): [string, string][] =>
    key ? [[`g ${key}`, `Go to ${label}`]] : [],
  ),
  ['j, k', 'Next or previous item in a list'],
  ['?', 'Show this list'],
]

/** Production stands out, because actions there affect customers. */
const ENVIRONMENT_TONES = { Production: 'bad', Test: 'warn', Local: 'good' }

/** Printed pages cannot be expanded. */
function openDetails() {
  for (const details of document.querySelectorAll('main details')) details.setAttribute('open', '')
}

/** Before the next screen opens, so that it shows the message of the action that opened it, such as deleting a user. */
function dismissOnNavigation() {
  let current = parts.value.join('/')
  return parts.subscribe((segments) => {
    const next = segments.join('/')
    if (next !== current) dismissMessages()
    current = next
  })
}

export function Frame() {
  const [isMenuOpen, setMenuOpen] = useState(false)
  const [isHelpOpen, setHelpOpen] = useState(false)
  const search = useRef<HTMLInputElement>(null)
  const menuButton = useRef<HTMLButtonElement>(null)
  const [current = ''] = parts.value
  useEffect(
    () =>
      startKeys({ focusSearch: () => search.current?.focus(), showHelp: () => setHelpOpen(true) }),
    [],
  )
  useEffect(() => {
    setMenuOpen(false)
  }, [parts.value.join('/')])
  useEffect(dismissOnNavigation, [])
  useEffect(() => {
    if (!isMenuOpen) return
    const closeMenu = ({ key }: KeyboardEvent) => {
      if (key !== 'Escape') return
      setMenuOpen(false)
      menuButton.current?.focus()
    }
    addEventListener('keydown', closeMenu)
    return () => removeEventListener('keydown', closeMenu)
  }, [isMenuOpen])
  useEffect(() => {
    addEventListener('beforeprint', openDetails)
    return () => removeEventListener('beforeprint', openDetails)
  }, [])
  const Screen = SCREENS.find(({ path }) => path === current)?.Screen ?? NotFound
  return (
    <div class="frame">
      <a class="skip" href="#content">
        Skip to content
      </a>
      <div class="top">
        <header class="bar">
          <a class="brand" href={linkTo('')}>
            {appTitle}{' '}
            <small class={`badge ${ENVIRONMENT_TONES[identity.value.environment]}`}>
              {identity.value.environment}
            </small>
          </a>
          <Search input={search} />
          <a class="me" href={linkTo('me')}>
            {me.value?.name}
          </a>
          <button
            ref={menuButton}
            type="button"
            class="toggle"
            aria-expanded={isMenuOpen}
            aria-controls="navigation"
            onClick={() => setMenuOpen(!isMenuOpen)}
          >
            Menu
          </button>
          <Messages />
        </header>
        <Navigation current={current} isOpen={isMenuOpen} />
      </div>
      <main id="content" tabIndex={-1}>
        <p class="print-only">
          Printed by {me.value?.name} from {location.href}
        </p>
        <Screen key={parts.value.slice(0, 2).join('/')} />
      </main>
      {isHelpOpen && (
        <Dialog title="Keyboard shortcuts" onClose={() => setHelpOpen(false)}>
          <Details
            items={SHORTCUTS.map(([keys, effect]) => [<kbd key={keys}>{keys}</kbd>, effect])}
          />
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

function NotFound() {
  return (
    <>
      <Title>Page not found</Title>
      <Empty>Check the address, or choose a page from the menu.</Empty>
    </>
  )
}
