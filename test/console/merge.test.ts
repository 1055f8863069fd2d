import { expect, test } from 'bun:test'
import { merge } from '../../src/console/editing/merge.ts'

const faq = (question: object, answer: string) => ({ question, answer: { en: answer } })
const plan = (code: string, price = 1) => ({ code, price })
const HOW = { en: 'How?' }
const HOW_IN_GERMAN = { en: 'How?', de: 'Wie?' }
const WHY = faq({ en: 'Why?' }, 'Because.')
const [A, B, C] = [plan('a'), plan('b'), plan('c')]

test.each([
  [
    'an answer that I edit, while they translate its question',
    [faq(HOW, 'old'), WHY],
    [faq(HOW, 'mine'), WHY],
    [faq(HOW_IN_GERMAN, 'old'), WHY],
    [faq(HOW_IN_GERMAN, 'mine'), WHY],
  ],
  [
    'a question that I translate, while they edit its answer',
    [faq(HOW, 'old'), WHY],
    [faq(HOW_IN_GERMAN, 'old'), WHY],
    [faq(HOW, 'theirs'), WHY],
    [faq(HOW_IN_GERMAN, 'theirs'), WHY],
  ],
  [
    'my answer, while they reword its question and move it',
    [faq(HOW, 'old'), WHY],
    [faq(HOW, 'mine'), WHY],
    [WHY, faq({ en: 'How so?' }, 'old')],
    [WHY, faq({ en: 'How so?' }, 'mine')],
  ],
  ['my order, while they edit an item', [A, B], [B, A], [plan('a', 2), B], [B, plan('a', 2)]],
  ['their order, while I edit an item', [A, B], [plan('a', 2), B], [B, A], [B, plan('a', 2)]],
  ['an item that I edit and they delete', [A, B], [plan('a', 2), B], [B], [plan('a', 2), B]],
  ['no item that they delete', [A, B], [A, plan('b', 2)], [B], [plan('b', 2)]],
  ['no item that I delete', [A, B], [B], [A, plan('b', 2)], [plan('b', 2)]],
  ['the additions of both', [A], [A, B], [C, A], [C, A, B]],
  ['one of two equal plans that both add', [A], [A, B], [A, B], [A, B]],
  [
    'both fields of a plan',
    [A],
    [plan('a', 2)],
    [{ ...A, name: 'x' }],
    [{ ...plan('a', 2), name: 'x' }],
  ],
])('keeps %s', (_, base, mine, theirs, merged) => {
  expect(merge(base, mine, theirs)).toEqual(merged)
})
