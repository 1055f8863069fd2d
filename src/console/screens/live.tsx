import { useEffect, useState } from 'preact/hooks'
import { Badge, Empty, Field, Title } from '../ui/parts.tsx'

type Line = Record<string, unknown> & { level: string; time: string }

const KEPT = 500
/** In ms. */
const RETRY_AFTER = 2_000
const LEVELS = ['any', 'info', 'warn', 'error']

/** The log as it is written; nothing comes while the tab is hidden. */
export function LiveScreen() {
  const [lines, setLines] = useState<Line[]>([])
  const [isPaused, setPaused] = useState(false)
  const [state, setState] = useState('connecting')
  const [attempt, setAttempt] = useState(0)
  const [text, setText] = useState('')
  const [level, setLevel] = useState('any')
  const [isHidden, setHidden] = useState(document.hidden)
  useEffect(() => {
    const look = () => setHidden(document.hidden)
    document.addEventListener('visibilitychange', look)
    return () => document.removeEventListener('visibilitychange', look)
  }, [])
  useEffect(() => {
    if (isPaused || isHidden) return
    const source = new EventSource('/console/api/live')
    let waiting: Line[] = []
    source.onopen = () => {
      // What is kept comes again with every connection.
      waiting = []
      setLines([])
      setState('connected')
    }
    let again: ReturnType<typeof setTimeout>
    source.onerror = () => {
      setState('connecting')
      // It tries again by itself, but not where something else has answered.
      if (source.readyState === EventSource.CLOSED)
        again = setTimeout(() => setAttempt(attempt + 1), RETRY_AFTER)
    }
    source.onmessage = ({ data }) => waiting.push(JSON.parse(data))
    const timer = setInterval(() => {
      if (waiting.length === 0) return
      const come = waiting
      waiting = []
      setLines((before) => [...before, ...come].slice(-KEPT))
    }, 250)
    return () => {
      source.close()
      clearInterval(timer)
      clearTimeout(again)
    }
  }, [isPaused, isHidden, attempt])
  const shown = lines.filter((line) => {
    const isLevel = level === 'any' || line.level === level
    return (
      isLevel && (text === '' || JSON.stringify(line).toLowerCase().includes(text.toLowerCase()))
    )
  })
  return (
    <>
      <Title
        actions={
          <button type="button" aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
            {isPaused ? 'Go on' : 'Pause'}
          </button>
        }
      >
        Live
      </Title>
      <form class="filters" onSubmit={(event) => event.preventDefault()} aria-label="Filters">
        <Field label="With the text">
          <input value={text} onInput={(event) => setText(event.currentTarget.value)} />
        </Field>
        <Field label="Level">
          <select value={level} onChange={(event) => setLevel(event.currentTarget.value)}>
            {LEVELS.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </Field>
        <p>
          <Badge tone={state === 'connected' && !isPaused ? 'good' : 'warn'}>
            {isPaused ? 'paused' : state}
          </Badge>
        </p>
      </form>
      {shown.length === 0 && <Empty>No line is like that yet.</Empty>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keys */}
      <section class="card line-log" aria-label="Lines of the log" tabIndex={0}>
        {shown.toReversed().map((line, at) => (
          <div
            key={at}
            class={line.level === 'error' || line.level === 'fatal' ? 'bad' : line.level}
          >
            {sentenceOf(line)}
          </div>
        ))}
      </section>
    </>
  )
}

function sentenceOf({ level, time, msg, method, route, status, ms, ...rest }: Line): string {
  const clock = String(time).slice(11, 23)
  const what = method ? `${method} ${route} ${status} ${ms} ms` : (msg ?? '')
  const { requestId: _id, ...others } = rest
  const more = Object.keys(others).length > 0 ? ` ${JSON.stringify(others)}` : ''
  return `${clock} ${level} ${what}${more}`
}
