import { dataCommand, prettyJson } from '../../../lib/command.ts'
import type { Stores } from '../stores.ts'

type Needs = { stores: Pick<Stores, 'purchaseSearch'> }

const purchasesShow = dataCommand({
  name: 'purchases show',
  summary: 'Show a purchase by its transaction id or the order number on the receipt',
  arguments: '<transaction-or-order>',
  input: ([id = '']) => id,
  work: ({ stores }: Needs, id: string) => stores.purchaseSearch.findOrThrow(id),
  print: prettyJson,
})

export const purchaseCommands = [purchasesShow]
