import * as Primitive from '@radix-ui/react-tooltip';
import type { ReactNode } from 'react';
import { Key } from './key.tsx';

/** Says what an icon stands for. The same text has to be its label, as touch and keys show no tooltip. */
export function Tooltip({
  text,
  keys,
  children,
}: {
  readonly text: string;
  readonly keys?: string | undefined;
  readonly children: ReactNode;
}) {
  return (
    <Primitive.Root>
      <Primitive.Trigger asChild>{children}</Primitive.Trigger>
      <Primitive.Portal>
        <Primitive.Content className="tooltip" sideOffset={6} collisionPadding={8} aria-hidden>
          {text}
          {keys !== undefined && <Key keys={keys} />}
        </Primitive.Content>
      </Primitive.Portal>
    </Primitive.Root>
  );
}

/** Once one tooltip shows, its neighbours follow without a wait. */
export function TooltipArea({ children }: { readonly children: ReactNode }) {
  return (
    <Primitive.Provider delayDuration={450} skipDelayDuration={200} disableHoverableContent>
      {children}
    </Primitive.Provider>
  );
}
