import uPlot from 'uplot'
import type { Samples } from '../types.ts'

type Series = { name: keyof Omit<Samples[number], 'at'>; label: string }

const COLORS = ['--accent', '--bad']
const HEIGHT = 220

/** Draws lines into an element, in the colours of the page. */
export function drawLines(
  element: HTMLElement,
  width: number,
  samples: Samples,
  series: Series[],
  format: (value: number) => string,
) {
  const style = getComputedStyle(element)
  const soft = inked('--soft')
  const grid = { stroke: inked('--line'), width: 1 }
  return new uPlot(
    {
      width,
      height: HEIGHT,
      legend: { show: false },
      cursor: { show: false },
      scales: { y: { range: (_chart, _least, most) => [0, Math.max(most, 1)] } },
      axes: [
        { stroke: soft, grid },
        { stroke: soft, grid, size: 70, values: (_chart, ticks) => ticks.map(format) },
      ],
      series: [
        {},
        ...series.map(({ label }, at) => ({
          label,
          stroke: inked(COLORS[at] ?? '--accent'),
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

  /** A canvas knows no `light-dark()`: an element tells what comes of it. */
  function inked(name: string): string {
    const probe = document.createElement('span')
    probe.style.color = style.getPropertyValue(name)
    element.append(probe)
    const { color } = getComputedStyle(probe)
    probe.remove()
    return color
  }
}
