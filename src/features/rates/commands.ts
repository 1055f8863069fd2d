import { dataCommand } from '../../lib/command.ts'
import type { Rates } from './service.ts'

type Needs = { rates: Rates }

const ratesShow = dataCommand({
  name: 'rates show',
  summary: 'Show the current currency rates',
  work: ({ rates }: Needs) => rates.read(),
  print: ({ baseCode, rates, updatedAt }) =>
    [
      `1 ${baseCode}, published ${updatedAt}`,
      ...Object.entries(rates).map(([code, rate]) => `${code}\t${rate}`),
    ].join('\n'),
})

export const ratesCommands = [ratesShow]
