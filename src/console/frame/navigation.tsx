import { Fragment } from 'preact'
import { me } from '../operator.ts'
import { linkTo } from '../router.ts'
import { SCREENS } from '../screens.tsx'

/** The icons' shapes on a grid of 24 units, by the screen's path. */
const ICONS: Record<string, string> = {
  '': 'M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z',
  me: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8M4 21a8 8 0 0 1 16 0',
  people:
    'M9 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8M2 21a7 7 0 0 1 14 0M16 3a4 4 0 0 1 0 8M22 21a7 7 0 0 0-4-6',
  purchases: 'M5 3v18l3-2 2 2 2-2 2 2 2-2 3 2V3zM9 8h6M9 12h6',
  business: 'M3 17l6-6 4 4 8-8M15 7h6v6',
  events: 'M4 5h16v14H4zM4 13h5l1 2h4l1-2h5',
  usage: 'M4 18a9 9 0 1 1 16 0M12 14l4-5',
  files: 'M6 3h8l4 4v14H6zM14 3v4h4',
  settings: 'M4 7h9M17 7h3M15 5v4M4 17h3M11 17h9M9 15v4',
  plans: 'M3 6h18v12H3zM3 10h18M7 14h4',
  faqs: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18M9.5 9.5a2.5 2.5 0 1 1 2.5 3V14M12 17v.5',
  emails: 'M3 6h18v12H3zM3 7l9 6 9-6',
  rates: 'M7 4v16M7 4 3 8M7 4l4 4M17 20V4M17 20l-4-4M17 20l4-4',
  stores: 'M4 9v11h16V9M3 9l2-5h14l2 5zM10 20v-6h4v6',
  webhooks:
    'M6 21a3 3 0 1 0 0-6 3 3 0 0 0 0 6M18 21a3 3 0 1 0 0-6 3 3 0 0 0 0 6M12 9a3 3 0 1 0 0-6 3 3 0 0 0 0 6M11 9l-4 6M13 9l4 6M9 18h6',
  'api-keys': 'M8 7l-5 5 5 5M16 7l5 5-5 5M13 5l-2 14',
  alerts: 'M6 9a6 6 0 0 1 12 0v5l2 3H4l2-3zM10 20h4',
  metrics: 'M4 20V4M4 20h16M8 16v-4M12 16V8M16 16v-6',
  live: 'M3 12h4l3-8 4 16 3-8h4',
  backups: 'M4 7h16v13H4zM6 4h12M12 10v7M9 14l3 3 3-3',
  keys: 'M8 20a5 5 0 1 0 0-10 5 5 0 0 0 0 10M12 12l8-8M16 8l3 3',
  audit: 'M6 4h12v17H6zM9 2h6v4H9zM9 11h6M9 15h6',
  operators: 'M12 3l8 3v6c0 5-4 8-8 9-4-1-8-4-8-9V6zM9 12l2 2 4-4',
}

type NavigationProps = { current: string; isOpen: boolean }

/** The links to the screens, in groups. On a phone, they open from the menu. */
export function Navigation({ current, isOpen }: NavigationProps) {
  const listed = SCREENS.filter(({ label }) => label)
  const groups = [...new Set(listed.map(({ group }) => group))]
  return (
    <nav id="navigation" class={isOpen ? 'side open' : 'side'} aria-label="Main">
      {groups.map((group, at) => (
        <Fragment key={group ?? ''}>
          {group && <p id={`group-${group}`}>{group}</p>}
          <ul aria-labelledby={group && `group-${group}`}>
            {listed
              .filter((screen) => screen.group === group)
              .map(({ path, label }) => (
                <li key={path}>
                  <a href={linkTo(path)} aria-current={current === path ? 'page' : undefined}>
                    <svg viewBox="0 0 24 24" aria-hidden="true">
                      <path d={ICONS[path] ?? ''} />
                    </svg>
                    {label}
                  </a>
                </li>
              ))}
            {at === 0 && (
              <li class="me">
                <a href={linkTo('me')} aria-current={current === 'me' ? 'page' : undefined}>
                  <svg viewBox="0 0 24 24" aria-hidden="true">
                    <path d={ICONS['me']} />
                  </svg>
                  <span>
                    {me.value?.name}
                    <small class="unseen">, account and sign out</small>
                  </span>
                </a>
              </li>
            )}
          </ul>
        </Fragment>
      ))}
    </nav>
  )
}
