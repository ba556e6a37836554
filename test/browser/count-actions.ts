/** Counts what a person does to get something done. */
import type { Locator, Page } from 'playwright-core';

/** Does things in a page, and counts them: each click and each key is one, and so is a text, however long. */
export interface Actions {
  readonly count: () => number;
  readonly click: (target: Locator, options?: Parameters<Locator['click']>[0]) => Promise<void>;
  readonly doubleClick: (target: Locator) => Promise<void>;
  readonly fill: (target: Locator, text: string) => Promise<void>;
  readonly type: (text: string) => Promise<void>;
  readonly press: (key: string) => Promise<void>;
}

export function countActions(page: Page): Actions {
  let count = 0;
  return {
    count: () => count,
    click: async (target, options) => {
      count += 1;
      await target.click(options);
    },
    // Two clicks, as the hand knows.
    doubleClick: async (target) => {
      count += 2;
      await target.dblclick();
    },
    fill: async (target, text) => {
      count += 1;
      await target.fill(text);
    },
    type: async (text) => {
      count += 1;
      await page.keyboard.type(text);
    },
    press: async (key) => {
      count += 1;
      await page.keyboard.press(key);
    },
  };
}
