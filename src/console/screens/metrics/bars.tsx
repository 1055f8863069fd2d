type BarsProps = {
  label: string
  /** Oldest first. The values of a step are drawn over each other, negative ones below zero. */
  steps: { name: string; values: number[] }[]
  /** The colour of each value. */
  tones: string[]
  format: (value: number) => string
}

/** A small bar chart. Pointing at a step shows its values. */
export function Bars({ label, steps, tones, format }: BarsProps) {
  const all = steps.flatMap(({ values }) => values)
  const bottom = Math.min(...all, 0)
  const top = Math.max(...all, bottom === 0 ? 1 : 0)
  const range = top - bottom
  const texts = steps.map(({ name, values }) => `${name}: ${values.map(format).join(', ')}`)
  return (
    <svg
      class="bars"
      viewBox={`0 0 ${steps.length} 100`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`${label}. ${texts.slice(-13).join('; ')}`}
    >
      {steps.map(({ name, values }, at) => (
        <g key={name}>
          <title>{texts[at]}</title>
          <rect class="hit" x={at} width={1} height={100} />
          {values.map((value, index) => (
            <rect
              key={index}
              class={tones[index] ?? ''}
              x={at + 0.15}
              width={0.7}
              y={((top - Math.max(value, 0)) / range) * 98}
              height={(Math.abs(value) / range) * 98 + (index === 0 ? 2 : 0)}
            />
          ))}
        </g>
      ))}
    </svg>
  )
}
