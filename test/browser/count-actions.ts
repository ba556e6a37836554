import type { Page } from 'playwright-core';

/** A page whose clicks and keys are counted, as a person would do them: a click or a key is one, and so is typing a text. */
export interface CountedPage {
  readonly count: number;
  click(target: Parameters<Page['locator']>[0] | ReturnType<Page['locator']>): Promise<void>;
  press(key: string): Promise<void>;
  /** Types a text where the focus is. */
  type(text: string): Promise<void>;
}

export function countActions(page: Page): CountedPage {
  let count = 0;
  return {
    get count() {
      return count;
    },
    click: async (target) => {
      count += 1;
      await (typeof target === 'string' ? page.locator(target) : target).click();
    },
    press: async (key) => {
      count += 1;
      await page.keyboard.press(key);
    },
    type: async (text) => {
      count += 1;
      await page.keyboard.insertText(text);
    },
  };
}
