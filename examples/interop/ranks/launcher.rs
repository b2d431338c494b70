//! Which rank this process is, from the variables that launchers set.

use crate::error::RankError;

/// The variables in which a launcher says rank, number of ranks, and rank on this node.
struct Launcher {
    name: &'static str,
    variables: [&'static str; 3],
}

/// In the order of asking. `mpirun` in an allocation of Slurm has the variables of both, and those of `srun` then tell of its daemons.
const LAUNCHERS: &[Launcher] = &[
    Launcher { name: "torchrun", variables: ["RANK", "WORLD_SIZE", "LOCAL_RANK"] },
    Launcher {
        name: "mpirun (Open MPI)",
        variables: ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"],
    },
    Launcher { name: "mpirun (MPICH)", variables: ["PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"] },
    Launcher { name: "srun", variables: ["SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"] },
];

/// Where rank 0 listens.
const MEETING: [&str; 2] = ["MASTER_ADDR", "MASTER_PORT"];

/// Instead of `MASTER_PORT`.
const OWN_PORT: &str = "CUDA_LAUNCH_RANKS_PORT";

/// Set to `True` by torchrun where it listens at `MASTER_PORT` itself.
const PORT_IS_TAKEN: &str = "TORCHELASTIC_USE_AGENT_STORE";

/// This process among the others.
#[derive(Debug, PartialEq)]
pub(crate) struct Place {
    pub(crate) launcher: &'static str,
    pub(crate) rank: u32,
    pub(crate) world: u32,
    pub(crate) local_rank: u32,
    /// Of rank 0: a host name or an address, and the port.
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Place {
    /// What the launcher says; `lookup` is the environment.
    pub(crate) fn find(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, RankError> {
        let has_all = |launcher: &&Launcher| launcher.variables.iter().all(|name| lookup(name).is_some());
        let [host, port] = MEETING.map(&lookup);
        let own_port = lookup(OWN_PORT);
        let found = LAUNCHERS.iter().find(has_all).zip(host).zip(own_port.clone().or(port));
        let Some(((launcher, host), port)) = found else { return Err(missing(lookup)) };
        let [rank, world, local_rank] = launcher.variables;
        let (world, rank) = (number::<u32>(&lookup, world)?, number::<u32>(&lookup, rank)?);
        if rank >= world {
            let why = format!("ranks are 0 to {}", i64::from(world) - 1);
            return Err(RankError::Disagree { rank, world, why });
        }
        let name = if own_port.is_some() { OWN_PORT } else { MEETING[1] };
        let mut port = parsed::<u16>(name, port)?;
        if own_port.is_none() && lookup(PORT_IS_TAKEN).as_deref() == Some("True") {
            port = port.wrapping_add(1);
        }
        let local_rank = number(&lookup, local_rank)?;
        Ok(Self { launcher: launcher.name, rank, world, local_rank, host, port })
    }
}

fn missing(lookup: impl Fn(&str) -> Option<String>) -> RankError {
    let sets = LAUNCHERS.iter().map(|it| format!("{} ({})", it.variables.join(", "), it.name));
    let sets = sets.collect::<Vec<_>>().join(" or ");
    let looked_for = format!("{sets}, and {}", MEETING.join(", "));
    let all = LAUNCHERS.iter().flat_map(|launcher| launcher.variables).chain(MEETING);
    RankError::Variables { looked_for, found: all.filter(|name| lookup(name).is_some()).collect() }
}

fn number<T: std::str::FromStr>(lookup: impl Fn(&str) -> Option<String>, name: &str) -> Result<T, RankError> {
    parsed(name, lookup(name).unwrap_or_default())
}

/// The number in a variable or an option.
pub(crate) fn parsed<T: std::str::FromStr>(name: &str, value: String) -> Result<T, RankError> {
    let wrong = |value| RankError::Value { name: name.into(), value, wanted: "a number" };
    value.trim().parse().map_err(|_| wrong(value))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::Place;

    fn find(variables: &[(&str, &str)]) -> Result<Place, String> {
        let lookup = |name: &str| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_string())
        };
        Place::find(lookup).map_err(|error| error.to_string())
    }

    const MEETING: [(&str, &str); 2] = [("MASTER_ADDR", "node0"), ("MASTER_PORT", "29400")];

    fn with(variables: &[(&'static str, &'static str)]) -> Result<Place, String> {
        find(&[variables, &MEETING].concat())
    }

    #[test]
    fn each_launcher_is_understood() {
        let torchrun = [("RANK", "5"), ("WORLD_SIZE", "8"), ("LOCAL_RANK", "1")];
        let open_mpi = [
            ("OMPI_COMM_WORLD_RANK", "5"),
            ("OMPI_COMM_WORLD_SIZE", "8"),
            ("OMPI_COMM_WORLD_LOCAL_RANK", "1"),
        ];
        let mpich = [("PMI_RANK", "5"), ("PMI_SIZE", "8"), ("MPI_LOCALRANKID", "1")];
        let srun = [("SLURM_PROCID", "5"), ("SLURM_NTASKS", "8"), ("SLURM_LOCALID", "1")];
        let launchers = [
            (&torchrun, "torchrun"),
            (&open_mpi, "mpirun (Open MPI)"),
            (&mpich, "mpirun (MPICH)"),
            (&srun, "srun"),
        ];
        for (variables, launcher) in launchers {
            let wanted =
                Place { launcher, rank: 5, world: 8, local_rank: 1, host: "node0".into(), port: 29400 };
            assert_eq!(with(variables), Ok(wanted));
        }
        // Each daemon of mpirun is a task of srun: their variables are there, too.
        let daemon = [("SLURM_PROCID", "0"), ("SLURM_NTASKS", "2"), ("SLURM_LOCALID", "0")];
        assert_eq!(with(&[&open_mpi[..], &daemon].concat()).unwrap().rank, 5);
        // `srun --mpi=pmi2` sets two of MPICH's.
        assert_eq!(with(&[&mpich[..2], &srun].concat()).unwrap().launcher, "srun");
    }

    #[test]
    fn the_port_is_ours_or_next_to_the_launchers() {
        let torchrun = [("RANK", "0"), ("WORLD_SIZE", "2"), ("LOCAL_RANK", "0")];
        let taken = [("TORCHELASTIC_USE_AGENT_STORE", "True")];
        assert_eq!(with(&[&torchrun[..], &taken].concat()).unwrap().port, 29401);
        assert_eq!(
            with(&[&torchrun[..], &taken, &[("CUDA_LAUNCH_RANKS_PORT", "7")]].concat()).unwrap().port,
            7
        );
    }

    #[test]
    fn what_is_missing_or_wrong_is_said() {
        let error = find(&[("RANK", "0"), ("WORLD_SIZE", "2")]).unwrap_err();
        for variable in
            ["LOCAL_RANK", "OMPI_COMM_WORLD_RANK", "PMI_SIZE", "SLURM_LOCALID", "MASTER_ADDR", "MASTER_PORT"]
        {
            assert!(error.contains(variable), "{error}");
        }
        assert!(error.contains(r#"set: ["RANK", "WORLD_SIZE"]"#), "{error}");
        let error = with(&[("RANK", "two"), ("WORLD_SIZE", "2"), ("LOCAL_RANK", "0")]).unwrap_err();
        assert_eq!(error, r#"RANK is "two", not a number"#);
        let error = with(&[("RANK", "2"), ("WORLD_SIZE", "2"), ("LOCAL_RANK", "0")]).unwrap_err();
        assert_eq!(error, "rank 2 of 2 cannot take part: ranks are 0 to 1");
    }
}
