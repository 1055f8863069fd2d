import { pickTrue } from './text/format.ts'

const EXAMPLES = [
  /\bexample\.com\b/i,
  /\bcom\.example\./,
  /\bid0{9}\b/,
  /\b(prod|price)_example_/,
  /Everything to start with\.|For people who mean it\.|A year at the price of eight months\./,
  /Alles für den Anfang\.|Für alle, die es ernst meinen\.|Ein Jahr zum Preis von acht Monaten\./,
]

/** Whether a setting or a plan still has an example text that every new installation has. */
export function isExample(value: unknown): boolean {
  const text = JSON.stringify(value) ?? ''
  return EXAMPLES.some((example) => example.test(text))
}

export function describeExamples(settings: object, plans: { code: string }[]): string[] {
  const names = Object.entries(settings).flatMap(([name, value]) => (isExample(value) ? name : []))
  const codes = plans.filter(isExample).map(({ code }) => code)
  return pickTrue([
    names.length > 0 && `Apps get example values of the settings ${names.join(', ')}.`,
    codes.length > 0 &&
      `Apps offer the example plans ${codes.join(', ')}: edit them, or run "homeport plans archive --examples".`,
  ])
}
