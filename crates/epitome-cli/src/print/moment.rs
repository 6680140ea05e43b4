//! Moments as people read them, in UTC.

use epitome_core::Time;

/// `2026-02-03 06:17`, as short as it can be and still sort.
pub(crate) fn moment(time: Time) -> String {
    let seconds = time.0.div_euclid(1000);
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = date(days);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}", second / 3600, second % 3600 / 60)
}

// The civil date of a day counted from 1970, by eras of 400 years that begin in March.
fn date(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_read_well() {
        let cases = [
            (0, "1970-01-01 00:00"),
            (951_827_640_000, "2000-02-29 12:34"),
            (1_770_099_475_580, "2026-02-03 06:17"),
            (-1, "1969-12-31 23:59"),
            (4_102_444_800_000, "2100-01-01 00:00"),
        ];
        for (time, expected) in cases {
            assert_eq!(moment(Time(time)), expected);
        }
    }
}
