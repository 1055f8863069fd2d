import { expect } from 'bun:test'
import { Value } from '@sinclair/typebox/value'
import { Failure } from '../../src/platform/http/replies/envelope.ts'
import type { Answer, TestApp } from './app.ts'

/** Expects an error response in the standard format with `status`. */
export function expectFailure(answer: Answer, status: number) {
  expect([answer.status, answer.text]).toEqual([status, answer.text])
  expect(answer.headers.get('content-type')).toStartWith('application/json')
  // The OpenAPI document lists this header for every failure.
  expect(answer.headers.get('content-language')).toBeString()
  expect([...Value.Errors(Failure, answer.json)]).toEqual([])
}

/** Adds routes `/throws/0` and so on; each throws one of `thrown`. */
export function throwAt({ app }: TestApp, thrown: unknown[]) {
  for (const [at, error] of thrown.entries()) {
    app.get(`/throws/${at}`, () => {
      throw error
    })
  }
}
