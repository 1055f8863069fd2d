import { expect } from 'bun:test'
import { ConfigError, readConfig } from '../../src/config/config.ts'

/** The error message for invalid variables. */
export function configErrorFor(environment: Record<string, string>): string {
  try {
    readConfig({}, environment)
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    return (error as Error).message
  }
  throw new Error(`${Object.keys(environment)} was accepted`)
}
