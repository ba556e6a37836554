import type { Page } from 'playwright-core';

/**
 * Counts what a person does in a page from now on: each click, each key, and each text that is typed, which is one action however long it is.
 * A choice of a list is two: it is opened, too.
 */
export async function watchActions(page: Page): Promise<() => Promise<number>> {
  const script = `if (window.actionCount === undefined) {
    window.actionCount = Number(sessionStorage.getItem('actions') ?? 0);
    const count = (more) => sessionStorage.setItem('actions', String(window.actionCount += more));
    const isText = (target) => target.matches('input:not([type=checkbox]), textarea');
    addEventListener('click', ({ detail }) => detail > 0 && count(1), true);
    addEventListener('keydown', ({ key, target, ctrlKey, metaKey }) => {
      const isTyped = key.length === 1 && isText(target) && !ctrlKey && !metaKey;
      if (!isTyped && !['Control', 'Meta', 'Shift', 'Alt'].includes(key)) count(1);
    }, true);
    addEventListener('input', ({ target }) => {
      if (target.matches('select')) count(2);
      else if (isText(target) && target !== window.lastInput) count(1);
      window.lastInput = target;
    }, true);
  }`;
  await page.addInitScript(script);
  await page.evaluate(script);
  return async () => page.evaluate<number>('window.actionCount');
}
