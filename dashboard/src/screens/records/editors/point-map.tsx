import Minus from 'lucide-react/icons/minus';
import Plus from 'lucide-react/icons/plus';
import {
  type KeyboardEvent,
  type PointerEvent,
  type RefObject,
  useEffect,
  useEffectEvent,
  useRef,
  useState,
} from 'react';
import world from 'world-atlas/land-110m.json';
import { IconButton } from '../../../parts/button.tsx';

/** In degrees. */
interface Point {
  readonly lon: number;
  readonly lat: number;
}

/** What shows of the world: its middle, and how many times larger than the whole. */
interface View extends Point {
  readonly zoom: number;
}

interface PointMapProps extends Point {
  readonly onMove: (point: Point) => void;
}

/** A point on a map of the world. A click, the arrow keys and a drag of the point move it; a drag of anything else, the wheel and the buttons move the map. */
export function PointMap(props: PointMapProps) {
  const { lon, lat } = props;
  const map = useRef<SVGSVGElement>(null);
  const { view, zoom, handlers } = useMap(map, props);
  const [width, height] = [360 / view.zoom, 180 / view.zoom];
  return (
    <>
      <svg
        ref={map}
        role="application"
        aria-label="Map: arrow keys move the point, + and − zoom"
        tabIndex={0}
        viewBox={`${view.lon - width / 2} ${-view.lat - height / 2} ${width} ${height}`}
        {...handlers}
      >
        <path className="point-map-grid" d={grid} />
        {[-360, 0, 360].map((turn) => (
          <path
            key={turn}
            className="point-map-land"
            d={land}
            transform={`translate(${turn}) ${landTransform}`}
          />
        ))}
        {isOnEarth(props) && <circle className="point-map-point" cx={lon} cy={-lat} r={width / 90} />}
      </svg>
      <div className="point-map-zoom">
        <IconButton small label="Zoom in" icon={Plus} onClick={() => zoom(2)} />
        <IconButton small label="Zoom out" icon={Minus} onClick={() => zoom(0.5)} />
      </div>
    </>
  );
}

/** A press of the pointer, until it ends. */
interface Press {
  readonly x: number;
  readonly y: number;
  readonly view: View;
  readonly isOnPoint: boolean;
  readonly hasMoved: boolean;
}

/** A press that moves less is a click. */
const clickPx = 4;
const pointPx = 14;
/** A key moves the point so many parts of the width of the map; with shift, a tenth of that. */
const keyParts = 40;

const arrows: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, 1],
  ArrowDown: [0, -1],
};

function useMap(map: RefObject<SVGSVGElement | null>, { onMove, ...point }: PointMapProps) {
  const [view, setView] = useView(point);
  const [press, setPress] = useState<Press>();
  const start = isOnEarth(point) ? point : view;
  const zoom = (factor: number, at: Point = start): boolean => {
    const next = zoomed(view, factor, at);
    setView(next);
    return next.zoom !== view.zoom;
  };
  const degreesPerPx = (): number => 360 / view.zoom / (map.current?.clientWidth ?? 1);
  const placeOf = ({ clientX, clientY }: Pick<MouseEvent, 'clientX' | 'clientY'>): Point => {
    const { left = 0, top = 0, width = 0, height = 0 } = map.current?.getBoundingClientRect() ?? {};
    return {
      lon: view.lon + (clientX - left - width / 2) * degreesPerPx(),
      lat: view.lat - (clientY - top - height / 2) * degreesPerPx(),
    };
  };
  const move = (to: Point, step = degreesPerPx()): void => onMove(rounded(to, step));
  useWheel(map, (event) => zoom(2 ** (-event.deltaY / 240), placeOf(event)) && event.preventDefault());
  const handlers = {
    onKeyDown: (event: KeyboardEvent) => {
      const arrow = arrows[event.key];
      const factor = { '+': 2, '=': 2, '-': 0.5 }[event.key];
      if (arrow === undefined && factor === undefined) return;
      event.preventDefault();
      if (factor !== undefined) zoom(factor);
      const step = 360 / view.zoom / keyParts / (event.shiftKey ? 10 : 1);
      if (arrow !== undefined)
        move({ lon: start.lon + arrow[0] * step, lat: start.lat + arrow[1] * step }, step / 10);
    },
    onPointerDown: (event: PointerEvent) => {
      event.currentTarget.setPointerCapture(event.pointerId);
      const { lon, lat } = placeOf(event);
      const isOnPoint = Math.hypot(lon - point.lon, lat - point.lat) < pointPx * degreesPerPx();
      setPress({ x: event.clientX, y: event.clientY, view, isOnPoint, hasMoved: false });
    },
    onPointerMove: (event: PointerEvent) => {
      if (press === undefined) return;
      const [x, y] = [event.clientX - press.x, event.clientY - press.y];
      if (!press.hasMoved && Math.hypot(x, y) < clickPx) return;
      setPress({ ...press, hasMoved: true });
      const { lon, lat, zoom: factor } = press.view;
      if (press.isOnPoint) move(placeOf(event));
      else setView(bounded({ zoom: factor, lon: lon - x * degreesPerPx(), lat: lat + y * degreesPerPx() }));
    },
    onPointerUp: (event: PointerEvent) => {
      if (press?.hasMoved === false) move(placeOf(event));
      setPress(undefined);
    },
    onPointerCancel: () => setPress(undefined),
  };
  return { view, zoom, handlers };
}

/** The view goes to a point that is moved out of it. */
function useView(point: Point) {
  const [view, setView] = useState<View>({ lon: 0, lat: 0, zoom: 1 });
  const [before, setBefore] = useState(point);
  if (!Object.is(before.lon, point.lon) || !Object.is(before.lat, point.lat)) {
    setBefore(point);
    const isOut =
      Math.abs(point.lon - view.lon) > 180 / view.zoom || Math.abs(point.lat - view.lat) > 90 / view.zoom;
    if (isOut && isOnEarth(point)) setView(bounded({ ...view, ...point }));
  }
  return [view, setView] as const;
}

/** React listens to the wheel in a way that cannot keep the page from scrolling. */
function useWheel(map: RefObject<SVGSVGElement | null>, onWheel: (event: WheelEvent) => void): void {
  const turn = useEffectEvent(onWheel);
  useEffect(() => {
    const node = map.current;
    const listener = (event: WheelEvent): void => turn(event);
    node?.addEventListener('wheel', listener, { passive: false });
    return () => node?.removeEventListener('wheel', listener);
  }, [map]);
}

function isOnEarth({ lon, lat }: Point): boolean {
  return Math.abs(lon) <= 180 && Math.abs(lat) <= 90;
}

/** The outlines have no more detail. */
const zoomMax = 64;

/** What is at a place stays there. */
function zoomed(view: View, factor: number, at: Point): View {
  const zoom = within(view.zoom * factor, 1, zoomMax);
  const ratio = view.zoom / zoom;
  return bounded({
    zoom,
    lon: at.lon + (view.lon - at.lon) * ratio,
    lat: at.lat + (view.lat - at.lat) * ratio,
  });
}

/** Nothing beyond the edge of the world shows. */
function bounded({ lon, lat, zoom }: View): View {
  const [x, y] = [180 - 180 / zoom, 90 - 90 / zoom];
  return { zoom, lon: within(lon, -x, x), lat: within(lat, -y, y) };
}

function within(value: number, min: number, max: number): number {
  return Math.min(max, Math.max(min, value));
}

/** As many digits as tell steps of so many degrees apart. */
function rounded({ lon, lat }: Point, step: number): Point {
  const scale = 10 ** Math.max(0, Math.ceil(-Math.log10(step)));
  const round = (degrees: number, limit: number): number =>
    Math.round(within(degrees, -limit, limit) * scale) / scale;
  return { lon: round(lon, 180), lat: round(lat, 90) };
}

const grid = [
  ...[-150, -120, -90, -60, -30, 0, 30, 60, 90, 120, 150].map((lon) => `M${lon} -90V90`),
  ...[-60, -30, 0, 30, 60].map((lat) => `M-180 ${lat}H180`),
].join('');

const { arcs, objects, transform } = world;
const [scaleX = 1, scaleY = 1] = transform.scale;
const [startX = 0, startY = 0] = transform.translate;
const landTransform = `translate(${startX} ${-startY}) scale(${scaleX} ${-scaleY})`;

const fullTurn = Math.round(360 / scaleX);

/**
 * The rings of the outlines. A ring is made of arcs: a point, where the arc before has ended, and the steps from it. One that crosses the date line
 * goes on beyond it, so that the world is drawn again on both sides.
 */
const land = objects.land.geometries
  .flatMap((geometry) => geometry.arcs.flat())
  .map((ring) => ring.flatMap((arc, index) => (arcs[arc] ?? []).slice(index === 0 ? 0 : 1)))
  .map(([first = [], ...steps]) => {
    const short = steps.map(([x = 0, y = 0]) => [x - Math.round(x / fullTurn) * fullTurn, y]);
    return `M${first.join(' ')}l${short.join(' ')}z`;
  })
  .join('');
