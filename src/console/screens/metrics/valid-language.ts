// uPlot formats numbers in this language as it loads, and fails if the browser has no tag there, but `en-US@posix`.
try {
  Intl.getCanonicalLocales(navigator.language)
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en' })
}
