import { useEffect, useRef, useState } from 'preact/hooks'
import type { Steps } from '../../../platform/metrics/charts.ts'
import { words } from '../../format.ts'
import { Card, Time } from '../../ui/parts.tsx'
import { type Age, drawLines, type Line, type Look } from './line-chart.ts'

export type Start = { at: string; instance: string; version: string; before: string | null }

export type ChartKind<Point> = {
  title: string
  series: (Look & { name: keyof Point; label: string })[]
  format: (value: number) => string
  /** For the axis, where there is little space. */
  formatShort?: (value: number) => string
  /** Whether the values are counts. */
  isCount?: boolean
}

type ChartProps<Point> = ChartKind<Point> & {
  steps: Steps<Point>
  starts?: Start[]
  /** The names of the steps, if they are not times: on the axis and in full. */
  labels?: { short: string[]; full: string[] }
  height?: number
}

const NO_STARTS: Start[] = []
const DARK = matchMedia('(prefers-color-scheme: dark)')
const AGES: Record<Age, string> = { current: '', day: 'previous day', week: 'previous week' }

/** A line chart. Pointing at it, or moving the slider below it, shows all values of a time in words. */
export function Chart<Point>(props: ChartProps<Point>) {
  const { title, series, format, formatShort = format, isCount = false } = props
  const { steps, starts = NO_STARTS, labels, height = 220 } = props
  const element = useRef<HTMLDivElement>(null)
  const drawn = useRef<ReturnType<typeof drawLines> | null>(null)
  const width = useWidth(element)
  const scheme = useScheme()
  const { from, stepMs, current } = steps
  const latest = Math.max(
    0,
    current.findLastIndex((point) => point !== null),
  )
  const [pointed, setPointed] = useState<number | null>(null)
  const at = Math.min(pointed ?? latest, current.length - 1)
  const lines = linesOf(steps, series)
  useEffect(() => {
    if (width === 0 || !element.current) return
    const chart = drawLines(element.current, {
      width,
      height,
      times: current.map((_, step) => (labels ? step : (from + step * stepMs) / 1000)),
      labels: labels?.short,
      lines,
      marks: starts.map((start) => {
        return {
          at: Date.parse(start.at) / 1000,
          label: start.before === null ? '' : 'new version',
        }
      }),
      format: formatShort,
      isCount,
      onPoint: setPointed,
    })
    drawn.current = chart
    return () => chart.destroy()
  }, [width, scheme, steps, title])
  const shown = describe(lines, at, format)
  return (
    <Card title={title}>
      {lines.length + starts.length > 1 && (
        <ul class="legend">
          {lines.map(({ label, tone, age, isWide, isBar }) => (
            <li key={label}>
              <span class={`${tone} ${age} ${isWide || isBar ? 'wide' : ''}`} />
              {label}
            </li>
          ))}
          {starts.length > 0 && (
            <li>
              <span class="start" />
              restart
            </li>
          )}
        </ul>
      )}
      <div class="plot">
        <div
          ref={element}
          class="chart"
          style={{ minHeight: `${height}px` }}
          role="img"
          aria-label={`${title} chart. ${summarize(lines, format)}`}
        />
        <input
          type="range"
          min={0}
          max={current.length - 1}
          value={at}
          aria-label={`Time in the ${title} chart`}
          aria-valuetext={shown}
          onInput={({ currentTarget }) => {
            setPointed(Number(currentTarget.value))
            drawn.current?.point(Number(currentTarget.value))
          }}
        />
        <p
          class={pointed === null ? 'shown' : 'shown pointed'}
          style={{ '--at': at / Math.max(1, current.length - 1) }}
        >
          {labels ? labels.full[at] : <Time at={new Date(from + at * stepMs).toISOString()} />}:{' '}
          {shown}
        </p>
      </div>
    </Card>
  )
}

/** Whether the page is dark. A canvas keeps its colours when the scheme changes, so it must be redrawn. */
function useScheme(): boolean {
  const [isDark, setDark] = useState(() => DARK.matches)
  useEffect(() => {
    const update = () => setDark(DARK.matches)
    DARK.addEventListener('change', update)
    return () => DARK.removeEventListener('change', update)
  }, [])
  return isDark
}

function useWidth(element: { current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0)
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) =>
      setWidth(Math.floor(entry?.contentRect.width ?? 0)),
    )
    if (element.current) observer.observe(element.current)
    return () => observer.disconnect()
  }, [])
  return width
}

function linesOf<Point>({ current, earlier }: Steps<Point>, series: ChartKind<Point>['series']) {
  const periods = Object.entries({ current, ...earlier }) as [Age, (Point | null)[]][]
  return periods.flatMap(([age, points]) =>
    series.map(({ name, label, ...look }): Line => {
      return {
        ...look,
        age,
        name: label,
        label: [label, AGES[age]].filter(Boolean).join(', '),
        values: points.map((point) => (point?.[name] ?? null) as number | null),
      }
    }),
  )
}

/** `requests 12, failed 0. Previous day: requests 9, failed 0.` */
function describe(lines: Line[], at: number, format: (value: number) => string): string {
  const byAge = Map.groupBy(lines, ({ age }) => age)
  const sentences = [...byAge].map(([age, group]) => {
    const values = group.map(({ name, values: { [at]: value = null } }) => {
      return `${name} ${value === null ? 'none' : format(value)}`
    })
    return `${age === 'current' ? '' : `${words(AGES[age])}: `}${values.join(', ')}.`
  })
  return sentences.join(' ')
}

function summarize(lines: Line[], format: (value: number) => string): string {
  const figures = lines.flatMap(({ age, label, values }) => {
    const known = values.filter((value) => value !== null)
    if (age !== 'current' || known.length === 0) return []
    return [`${label}: maximum ${format(Math.max(...known))}, latest ${format(known.at(-1) ?? 0)}`]
  })
  return figures.join('; ')
}
