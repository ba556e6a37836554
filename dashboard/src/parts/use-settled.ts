import { useEffect, useState } from 'react';

const pauseMs = 300;

/** Returns the value once it has stayed the same for a moment: so that what somebody types is not asked about letter by letter. */
export function useSettled<Value>(value: Value): Value {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), pauseMs);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
