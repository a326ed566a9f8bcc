"""Our trigger beside Airflow's own, each case in a process of its own, servers in theirs."""
