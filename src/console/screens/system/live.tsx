import { useEffect, useState } from 'preact/hooks'
import { read } from '../../api.ts'
import { LOCALE, timeZone, utc } from '../../format.ts'
import { query } from '../../router.ts'
import { SelectField, TextField } from '../../ui/fields.tsx'
import { Filters } from '../../ui/filters.tsx'
import { Badge, Empty, Title } from '../../ui/parts.tsx'
import { useHidden } from '../../ui/remote.tsx'
import { ConsoleChoice } from '../metrics/labels.tsx'

type Line = Record<string, unknown> & { level: string; time: string }

/** The key keeps an expanded line expanded as new lines arrive. */
type KeyedLine = { key: number; line: Line }

let nextKey = 0
const MAX_LINES = 500
const RETRY_MS = 2_000
const DRAW_MS = 250
/** In the operator's time zone. An expanded line shows the milliseconds. */
const CLOCK = new Intl.DateTimeFormat(LOCALE, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
  timeZone,
})
const TONES: Record<string, string> = { debug: 'soft', info: 'good', warn: 'warn' }
const LEVELS: [level: string, name: string][] = [
  ['', 'Any'],
  ['info', 'Info'],
  ['warn', 'Warning'],
  ['error', 'Error'],
]

/** Shows the log as it is written. A hidden tab receives nothing. */
export function Screen() {
  const [isPaused, setPaused] = useState(false)
  const [text, setText] = useState(query.value.get('text') ?? '')
  const [level, setLevel] = useState('')
  const { lines, state } = useLiveLines(isPaused)
  const wanted = text.toLowerCase()
  const showsConsole = query.value.get('console') === 'on'
  const shown = lines.filter(
    ({ line }) =>
      (level === '' || line.level === level) &&
      (showsConsole || wanted !== '' || !String(line['route'] ?? '').startsWith('/console')) &&
      (wanted === '' || JSON.stringify(line).toLowerCase().includes(wanted)),
  )
  return (
    <>
      <Title
        actions={
          <>
            <Badge tone={state === 'connected' && !isPaused ? 'good' : 'warn'}>
              {isPaused ? 'paused' : state}
            </Badge>
            <button type="button" aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
              {isPaused ? 'Resume' : 'Pause'}
            </button>
          </>
        }
      >
        Live log
      </Title>
      <Filters
        isShort
        filter={{ ...(text && { text }), ...(level && { level }) }}
        onRemove={(name) => (name === 'text' ? setText('') : setLevel(''))}
      >
        <TextField label="Contains" value={text} onChange={setText} />
        <SelectField label="Level" value={level} options={LEVELS} onChange={setLevel} />
        <ConsoleChoice />
      </Filters>
      {shown.length === 0 && <Empty>No matching lines yet.</Empty>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable with the keyboard */}
      <section class="card line-log" aria-label="Log lines" tabIndex={0}>
        {shown.toReversed().map(({ key, line }) => (
          <LogLine key={key} line={line} />
        ))}
      </section>
    </>
  )
}

/** One line; click to expand. */
function LogLine({ line }: { line: Line }) {
  const [isOpen, setOpen] = useState(false)
  const { level, time } = line
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <time dateTime={time} title={utc(time)}>
          {CLOCK.format(new Date(time))}
        </time>{' '}
        <b class={TONES[level] ?? 'bad'}>{level}</b> {formatLine(line)}
      </summary>
      {isOpen && <pre>{JSON.stringify(line, null, 2)}</pre>}
    </details>
  )
}

function useLiveLines(isPaused: boolean) {
  const [lines, setLines] = useState<KeyedLine[]>([])
  const [state, setState] = useState('connecting')
  const [attempt, setAttempt] = useState(0)
  const isHidden = useHidden()
  useEffect(() => {
    if (isPaused || isHidden) return
    const source = new EventSource('/console/api/live')
    let waiting: KeyedLine[] = []
    let retry: ReturnType<typeof setTimeout>
    const reconnect = async () => {
      // Asks to sign in if the session has ended.
      await read('me').catch(() => {})
      setAttempt(attempt + 1)
    }
    source.onopen = () => {
      // Every connection starts with the most recent lines.
      waiting = []
      setLines([])
      setState('connected')
    }
    source.onerror = () => {
      setState('connecting')
      // The browser stops reconnecting if a proxy responded instead of the server.
      if (source.readyState === EventSource.CLOSED) retry = setTimeout(reconnect, RETRY_MS)
    }
    source.onmessage = ({ data }) => waiting.push({ key: nextKey++, line: JSON.parse(data) })
    const timer = setInterval(() => {
      if (waiting.length === 0) return
      const received = waiting
      waiting = []
      setLines((before) => [...before, ...received].slice(-MAX_LINES))
    }, DRAW_MS)
    return () => {
      source.close()
      clearInterval(timer)
      clearTimeout(retry)
    }
  }, [isPaused, isHidden, attempt])
  return { lines, state }
}

/** `GET /health 200 3 ms`, or the message. */
function formatLine({ msg, method, route, status, ms }: Line): string {
  return method ? `${method} ${route} ${status} ${ms} ms` : String(msg ?? '')
}
