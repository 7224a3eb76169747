//! The charts, as SVG: throughput by peer, throughput by number of threads, and the cliff.

use std::path::Path;

use plotters::backend::SVGBackend;
use plotters::chart::{ChartBuilder, SeriesLabelPosition};
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::element::{PathElement, Rectangle};
use plotters::prelude::{IntoLogRange, LineSeries};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{BLACK, Color, IntoFont, RGBColor, TextStyle, WHITE};

use crate::peer::{Result, Survives};
use crate::plan::{LARGE, Mode, SMALL};
use crate::run::Row;
use crate::task::{CliffPoint, Work};

const OURS: RGBColor = RGBColor(0xc0, 0x39, 0x2b);
const OTHER: RGBColor = RGBColor(0x5d, 0x8a, 0xa8);
const LINES: [RGBColor; 4] = [
    OURS,
    RGBColor(0x2e, 0x6d, 0xa4),
    RGBColor(0x3c, 0x8d, 0x40),
    RGBColor(0xb0, 0x7d, 0x12),
];

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Draws what the rows have.
pub fn draw(rows: &[Row], directory: &Path) -> Result<()> {
    std::fs::create_dir_all(directory)?;
    throughput(rows, &directory.join("throughput.svg"))?;
    scaling(rows, &directory.join("threads.svg"))?;
    cliff(rows, &directory.join("cliff.svg"))
}

fn area<'a>(path: &'a Path, size: (u32, u32)) -> Result<Area<'a>> {
    let area = SVGBackend::new(path, size).into_drawing_area();
    area.fill(&WHITE)?;
    Ok(area)
}

fn text(size: u32) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&BLACK)
}

struct Panel {
    title: &'static str,
    bars: Vec<(String, f64)>,
}

fn panel(rows: &[Row], title: &'static str, mode: Mode, window: usize) -> Panel {
    let mut bars = Vec::new();
    for row in rows {
        if row.mode != mode || row.task.windows[0] != window {
            continue;
        }
        if let Some(rate) = row
            .report
            .as_ref()
            .and_then(|report| report.adds_per_second)
        {
            let is_lost = row.task.survives == Survives::Nothing;
            let mark = if is_lost { " (lost by a kill)" } else { "" };
            bars.push((format!("{}{mark}", row.task.peer), rate));
        }
    }
    bars.sort_by(|one, other| one.1.total_cmp(&other.1));
    Panel { title, bars }
}

fn throughput(rows: &[Row], path: &Path) -> Result<()> {
    let mut panels = vec![
        panel(rows, "no syncs, window of 20,000", Mode::Unsynced, SMALL),
        panel(rows, "no syncs, window of 1,000,000", Mode::Unsynced, LARGE),
        panel(rows, "each add synced", Mode::Synced, SMALL),
        panel(rows, "synced after each 1,000 adds", Mode::Batches, SMALL),
        panel(rows, "64 threads, each add synced", Mode::Threads, SMALL),
    ];
    panels.retain(|panel| !panel.bars.is_empty());
    if panels.is_empty() {
        return Ok(());
    }
    let heights = panels.iter().map(|panel| panel.bars.len() as u32 * 18 + 62);
    let heights: Vec<u32> = heights.collect();
    let root = area(path, (900, heights.iter().sum::<u32>() + 10))?;
    let mut rest = root.clone();
    for (panel, height) in panels.iter().zip(heights) {
        let (top, below) = rest.split_vertically(height);
        bars(&top, panel)?;
        rest = below;
    }
    Ok(root.present()?)
}

fn bars(area: &Area<'_>, panel: &Panel) -> Result<()> {
    let rates = || panel.bars.iter().map(|(_, rate)| *rate);
    let power = |rate: f64, round: fn(f64) -> f64| 10_f64.powf(round(rate.log10()));
    let min = power(rates().fold(f64::INFINITY, f64::min) * 0.9, f64::floor);
    let max = power(rates().fold(1.0, f64::max) * 2.5, f64::ceil);
    let title = format!("adds a second, log scale: {}", panel.title);
    let mut chart = ChartBuilder::on(area)
        .caption(title, text(15))
        .margin_right(20)
        .set_left_and_bottom_label_area_size(24)
        .margin_left(200)
        .build_cartesian_2d((min..max).log_scale(), 0.0..panel.bars.len() as f64)?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .disable_y_axis()
        .x_label_formatter(&|rate| short(*rate))
        .label_style(text(11))
        .draw()?;
    for (index, (name, rate)) in panel.bars.iter().enumerate() {
        let is_ours = name.starts_with("idjournal");
        let color = if is_ours { OURS } else { OTHER };
        let (bottom, top) = (index as f64 + 0.12, index as f64 + 0.88);
        let bar = Rectangle::new([(min, bottom), (*rate, top)], color.filled());
        chart.draw_series([bar])?;
        let middle = index as f64 + 0.5;
        let (begin, y) = chart.backend_coord(&(min, middle));
        let (end, _) = chart.backend_coord(&(*rate, middle));
        let (left, up) = area.get_base_pixel();
        let right = text(12).pos(Pos::new(HPos::Right, VPos::Center));
        area.draw_text(name, &right, (begin - left - 6, y - up))?;
        let after = text(11).pos(Pos::new(HPos::Left, VPos::Center));
        area.draw_text(&short(*rate), &after, (end - left + 4, y - up))?;
    }
    Ok(())
}

/// A rate in few signs.
fn short(rate: f64) -> String {
    match rate {
        1e7.. => format!("{:.0} M", rate / 1e6),
        1e6.. => format!("{:.1} M", rate / 1e6),
        1e4.. => format!("{:.0} k", rate / 1e3),
        1e3.. => format!("{:.1} k", rate / 1e3),
        _ => format!("{rate:.0}"),
    }
}

/// Microseconds, in few signs.
fn duration(microseconds: f64) -> String {
    match microseconds {
        1e6.. => format!("{:.0} s", microseconds / 1e6),
        1e3.. => format!("{:.0} ms", microseconds / 1e3),
        1.0.. => format!("{microseconds:.0} us"),
        _ => format!("{microseconds:.1} us"),
    }
}

fn scaling(rows: &[Row], path: &Path) -> Result<()> {
    let mut lines: Vec<(&str, Vec<(f64, f64)>)> = Vec::new();
    for row in rows.iter().filter(|row| row.mode == Mode::Scaling) {
        let rate = row
            .report
            .as_ref()
            .and_then(|report| report.adds_per_second);
        let (Work::Threads { count }, Some(rate)) = (row.task.work, rate) else {
            continue;
        };
        let point = (count as f64, rate);
        match lines.iter_mut().find(|line| line.0 == row.task.peer) {
            Some(line) => line.1.push(point),
            None => lines.push((&row.task.peer, vec![point])),
        }
    }
    let max = lines
        .iter()
        .flat_map(|line| &line.1)
        .map(|point| point.1)
        .fold(0.0, f64::max);
    if lines.is_empty() {
        return Ok(());
    }
    let root = area(path, (800, 450))?;
    let mut chart = ChartBuilder::on(&root)
        .caption(
            "adds a second, each thread waiting for the sync of its add",
            text(16),
        )
        .margin(14)
        .x_label_area_size(38)
        .y_label_area_size(60)
        .build_cartesian_2d((1.0..128.0).log_scale().base(2.0), 0.0..max * 1.08)?;
    chart
        .configure_mesh()
        .x_desc("threads")
        .x_labels(8)
        .x_label_formatter(&|count| format!("{count:.0}"))
        .y_label_formatter(&|rate| short(*rate))
        .light_line_style(WHITE)
        .label_style(text(12))
        .draw()?;
    for ((name, points), color) in lines.into_iter().zip(LINES) {
        chart
            .draw_series(LineSeries::new(points, color.stroke_width(2)))?
            .label(name)
            .legend(move |at| key(at, color));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .label_font(text(13))
        .draw()?;
    Ok(root.present()?)
}

/// A piece of a line, for the legend.
fn key((x, y): (i32, i32), color: RGBColor) -> PathElement<(i32, i32)> {
    PathElement::new(vec![(x, y), (x + 18, y)], color.stroke_width(2))
}

fn cliff(rows: &[Row], path: &Path) -> Result<()> {
    let lines = rows.iter().filter(|row| row.mode == Mode::Cliff);
    let lines = lines.filter_map(|row| Some((&row.task.peer, &row.report.as_ref()?.cliff)));
    let lines: Vec<(&String, &Vec<CliffPoint>)> = lines.collect();
    let points = || lines.iter().flat_map(|line| line.1);
    let Some(last) = points().map(|point| point.add).max() else {
        return Ok(());
    };
    let min = points()
        .map(|point| point.median)
        .fold(f64::INFINITY, f64::min);
    let max = points().map(|point| point.max).fold(1.0, f64::max);
    let root = area(path, (900, 500))?;
    let title = "time of an add, of each 100 in a row: median (thick) and longest (thin)";
    let mut chart = ChartBuilder::on(&root)
        .caption(title, text(16))
        .margin(14)
        .x_label_area_size(38)
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..last as f64, (min * 0.7..max * 1.5).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("adds; the window of 20,000 IDs is full at 20,000")
        .x_label_formatter(&|add| format!("{add:.0}"))
        .y_label_formatter(&|time| duration(*time))
        .light_line_style(WHITE)
        .label_style(text(12))
        .draw()?;
    let full = [(SMALL as f64, min * 0.7), (SMALL as f64, max * 1.5)];
    chart.draw_series(LineSeries::new(full, BLACK.mix(0.4)))?;
    for ((name, points), color) in lines.into_iter().zip(LINES) {
        let longest = points.iter().map(|point| (point.add as f64, point.max));
        chart.draw_series(LineSeries::new(longest, color.mix(0.35)))?;
        let median = points.iter().map(|point| (point.add as f64, point.median));
        chart
            .draw_series(LineSeries::new(median, color.stroke_width(2)))?
            .label(name)
            .legend(move |at| key(at, color));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .label_font(text(13))
        .draw()?;
    Ok(root.present()?)
}
