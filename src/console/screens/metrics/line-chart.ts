import './valid-language.ts'
import uPlot from 'uplot'
import { DAY_MS } from '../../../lib/time/durations.ts'
import { LOCALE, startOfDay, timeZone } from '../../format.ts'

/** The colour of a line. It means the same in every chart: `bad` for failures, `warn` for refusals. */
type Tone = 'accent' | 'second' | 'good' | 'warn' | 'bad'
/** `day` and `week`: the same time a day or a week before. */
export type Age = 'current' | 'day' | 'week'
export type Look = {
  tone: Tone
  isWide?: boolean
  isBar?: boolean
  /** Whether the line bridges times without a value. */
  spansGaps?: boolean
}
export type Line = Look & { name: string; label: string; age: Age; values: (number | null)[] }

type Drawing = {
  width: number
  height: number
  /** In seconds since 1970; with `labels`, the positions of the labels. */
  times: number[]
  labels?: string[] | undefined
  lines: Line[]
  /** Times at which the server started, in seconds. */
  marks: { at: number; label: string }[]
  format: (value: number) => string
  /** Whether the values are counts, so that the axis has no fractions. */
  isCount: boolean
  /** Called with the index of the time under the pointer. */
  onPoint: (at: number) => void
}

const AXIS_WIDTH = 70
/** Wide enough for a label such as `10:15 AM` or `Nov 25`. */
const TICK_WIDTH = 80
/** Half of the last label extends beyond the plot. */
const RIGHT_PADDING = 28
/** Keeps the highest value from touching the edge. */
const HEADROOM = 1.05
/** Bars take two thirds of their step, at most 40 pixels. */
const BARS = uPlot.paths.bars?.({ size: [2 / 3, 40] })
const WHOLE_STEPS = Array.from({ length: 10 }, (_, power) =>
  [1, 2, 5].map((step) => step * 10 ** power),
).flat()
const HOUR_OF_DAY = new Intl.DateTimeFormat(LOCALE, { timeStyle: 'short', timeZone })
const DAY_OF_YEAR = new Intl.DateTimeFormat(LOCALE, { month: 'short', day: 'numeric', timeZone })
const ISO_DAY = new Intl.DateTimeFormat('sv', { dateStyle: 'short', timeZone })
const DASHES: Record<Age, number[]> = { current: [], day: [8, 5], week: [2, 4] }

/** Draws a line chart in the colours of the page. `point` moves its cursor. */
export function drawLines(element: HTMLElement, drawing: Drawing) {
  const { width, height, times, labels, lines, marks, format, isCount, onPoint } = drawing
  const style = getComputedStyle(element)
  const axis = readColor('--soft')
  const spanMs = ((times.at(-1) ?? 0) - (times[0] ?? 0)) * 1000
  const grid = { stroke: readColor('--line'), width: 1 }
  const chart = new uPlot(
    {
      width,
      height,
      legend: { show: false },
      padding: [null, RIGHT_PADDING, null, null],
      ...(timeZone && {
        tzDate: (at: number) => uPlot.tzDate(new Date(at * 1000), timeZone ?? ''),
      }),
      cursor: { y: false, drag: { x: false, y: false } },
      scales: {
        x: labels ? { time: false, range: [-0.5, times.length - 0.5] } : {},
        y: {
          range: (_chart, min, max) => [Math.min(min ?? 0, 0), Math.max(max ?? 0, 1) * HEADROOM],
        },
      },
      axes: [
        {
          stroke: axis,
          grid,
          space: TICK_WIDTH,
          ...(labels && { incrs: WHOLE_STEPS }),
          values: (_chart, ticks) =>
            ticks.map((tick) => (labels ? (labels[tick] ?? null) : timeLabel(tick * 1000, spanMs))),
        },
        {
          stroke: axis,
          grid,
          size: AXIS_WIDTH,
          values: (_chart, ticks) => ticks.map(format),
          ...(isCount && { incrs: WHOLE_STEPS }),
        },
      ],
      series: [
        {},
        ...lines.map(({ label, tone, age, isWide, isBar, spansGaps }) => ({
          label,
          stroke: readColor(`--${tone}`),
          ...(isBar && BARS && { fill: readColor(`--${tone}`), paths: BARS }),
          width: isWide ? 3 : 1.5,
          dash: DASHES[age],
          points: { show: false },
          spanGaps: spansGaps === true,
        })),
      ],
      hooks: {
        setCursor: [({ cursor }) => typeof cursor.idx === 'number' && onPoint(cursor.idx)],
        draw: [drawMarks],
      },
    },
    [times, ...lines.map(({ values }) => values)],
    element,
  )
  return { point, destroy: () => chart.destroy() }

  function point(at: number) {
    chart.setCursor({ left: chart.valToPos(times[at] ?? 0, 'x'), top: 0 }, false)
  }

  function drawMarks({ ctx, bbox, valToPos }: uPlot) {
    ctx.save()
    ctx.strokeStyle = axis
    ctx.fillStyle = axis
    ctx.lineWidth = 2
    ctx.setLineDash([])
    for (const { at, label } of marks) {
      const x = Math.round(valToPos(at, 'x', true))
      if (x < bbox.left || x > bbox.left + bbox.width) continue
      ctx.beginPath()
      ctx.moveTo(x, bbox.top)
      ctx.lineTo(x, bbox.top + bbox.height)
      ctx.stroke()
      const isLeft = x < bbox.left + bbox.width / 2
      ctx.textAlign = isLeft ? 'left' : 'right'
      ctx.fillText(label, isLeft ? x + 6 : x - 6, bbox.top + 14)
    }
    ctx.restore()
  }

  /** A canvas does not support `light-dark()`, so an element resolves it. */
  function readColor(name: string): string {
    const probe = document.createElement('span')
    probe.style.color = style.getPropertyValue(name)
    element.append(probe)
    const { color } = getComputedStyle(probe)
    probe.remove()
    return color
  }
}

/** The time of a day, or the day if the chart spans several and it begins there. */
function timeLabel(ms: number, spanMs: number): string {
  const at = new Date(ms)
  const isMidnight = startOfDay(ISO_DAY.format(at)) === ms
  return (isMidnight && spanMs > DAY_MS / 2 ? DAY_OF_YEAR : HOUR_OF_DAY).format(at)
}
