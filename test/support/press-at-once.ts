import type { Page } from 'playwright-core';

/** Presses a key in the input that has the focus, and returns it as the next key would find it: its text with a | at the caret. */
export function pressAtOnce(page: Page, key: string): Promise<string> {
  return page.evaluate<string>(`
    (() => {
      const input = document.activeElement;
      input.dispatchEvent(new KeyboardEvent('keydown', { key: '${key}', bubbles: true, cancelable: true }));
      return input.value.slice(0, input.selectionStart) + '|' + input.value.slice(input.selectionEnd);
    })()`);
}
