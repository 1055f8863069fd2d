import uPlot from 'uplot'
import type { Sample } from '../../platform/history/schema.ts'

export type Samples = (Sample & { at: string })[]
export type Series = { name: keyof Omit<Sample, 'at'>; label: string }

const COLORS = ['--accent', '--bad']
const HEIGHT = 220

/** Draws a line chart in the colours of the page. */
export function drawLines(
  element: HTMLElement,
  width: number,
  samples: Samples,
  series: Series[],
  format: (value: number) => string,
) {
  const style = getComputedStyle(element)
  const axis = colorOf('--soft')
  const grid = { stroke: colorOf('--line'), width: 1 }
  return new uPlot(
    {
      width,
      height: HEIGHT,
      legend: { show: false },
      cursor: { show: false },
      scales: { y: { range: (_chart, _min, max) => [0, Math.max(max, 1)] } },
      axes: [
        { stroke: axis, grid },
        { stroke: axis, grid, size: 70, values: (_chart, ticks) => ticks.map(format) },
      ],
      series: [
        {},
        ...series.map(({ label }, at) => ({
          label,
          stroke: colorOf(COLORS[at] ?? '--accent'),
          width: 1.5,
          points: { show: false },
        })),
      ],
    },
    [
      samples.map(({ at }) => Date.parse(at) / 1000),
      ...series.map(({ name }) => samples.map((sample) => sample[name])),
    ],
    element,
  )

  /** A canvas does not support `light-dark()`, so an element resolves it. */
  function colorOf(name: string): string {
    const probe = document.createElement('span')
    probe.style.color = style.getPropertyValue(name)
    element.append(probe)
    const { color } = getComputedStyle(probe)
    probe.remove()
    return color
  }
}
